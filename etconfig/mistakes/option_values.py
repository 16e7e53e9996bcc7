"""Guesses at the value that was meant, for values that do not fit their option.

This module is imported only for values that are wrong.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from etconfig.base.records import record
from etconfig.diagnostics import Rewriting
from etconfig.schema.coerce import Mismatch, coerce, table_meant
from etconfig.schema.option_type import OptionKind, OptionType
from etconfig.schema.units import Unit
from etconfig.schema.value_text import parse_scalar

_YES = frozenset(("true", "yes", "on", "y", "enable", "enabled", "1"))
_NO = frozenset(("false", "no", "off", "n", "disable", "disabled", "0"))
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_NUMBER_AND_WORD = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,15})?) ?([A-Za-z]+|%)")
_SCOPE = re.compile(r"::|\.(?=[A-Za-z])")
"""The mark between an enum and its member in C++ and in Python."""

_MAX_LISTED = 6
_MAX_LENGTH = 200

_SIZES: Mapping[str, str] = {
    **{letter.casefold(): f"{letter}iB" for letter in "KMGT"},
    **{f"{letter.casefold()}b": f"{letter}iB" for letter in "KMGT"},
    **dict.fromkeys(("byte", "bytes"), "B"),
}
_TIMES: Mapping[str, str] = {
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "msecs", "millisecond", "milliseconds", "millis"), "ms"),
    **dict.fromkeys(("usec", "usecs", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("nsec", "nanosecond", "nanoseconds"), "ns"),
    **dict.fromkeys(("minute", "minutes", "mins", "m"), "min"),
    **dict.fromkeys(("hour", "hours", "hr"), "h"),
}
"""The suffix for other spellings of it, in lower case."""


@record(frozen=True, kw_only=True)
class ValueHelp:
    """The way out for a value that does not fit.

    Attributes:
        help: An instruction, or None.
        rewriting: The same as a change of the text, if there is one.
    """

    help: str | None
    rewriting: Rewriting | None = None


class _Guess(NamedTuple):
    """A value that was probably meant.

    Attributes:
        value: The value.
        is_safe: True if there is no doubt about it.
    """

    value: Any
    is_safe: bool = False


def help_with_value(
    mismatch: Mismatch, wanted: OptionType, raw: object, refusal: Callable[[object], str | None]
) -> ValueHelp:
    """Return the way out for the value `raw`, or for the item inside it, that does not fit.

    Args:
        mismatch: The reason.
        wanted: The type of the option.
        raw: The whole value.
        refusal: Returns why the backend's own checks refuse a whole value of this type, or None.
    """
    value: Any = raw
    refused = None
    for key in mismatch.path:
        wanted, value = wanted.part(key, value), value[key]
    for guess in _guesses(wanted, value):
        meant = coerce(wanted, guess.value)
        if isinstance(meant, Mismatch):
            continue
        text = toml_text(guess.value)
        reason = None if mismatch.path else refusal(meant)
        if reason is not None:
            refused = refused or f"{text} is refused, too: {reason}"
            continue
        unquoted = isinstance(value, str) and value == text
        help = f"write {text}{' without quotes' if unquoted else ''}"
        return ValueHelp(help=help, rewriting=_rewriting(value, text, is_safe=guess.is_safe))
    return ValueHelp(help=refused or mismatch.help or _advice(wanted, value))


def toml_text(value: object) -> str:
    """Return a boolean, number, text or list as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_text, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _rewriting(value: object, right: str, *, is_safe: bool) -> Rewriting | None:
    if isinstance(value, list):
        return Rewriting(None, right, is_safe)
    return Rewriting(value if isinstance(value, str) else toml_text(value), right, is_safe)


def _guesses(wanted: OptionType, raw: object) -> Iterator[_Guess]:
    """Yield what may have been meant, the most likely first; not all of it fits."""
    if isinstance(raw, str) and len(raw) > _MAX_LENGTH:
        return
    if wanted.kind is OptionKind.ARRAY:
        yield from _lists(wanted, raw)
        return
    if isinstance(raw, list) and len(raw) == 1 and not isinstance(raw[0], (list, dict)):
        yield _Guess(raw[0])
        yield from (_Guess(guess.value) for guess in _guesses(wanted, raw[0]))
        return
    if wanted.kind is OptionKind.BOOLEAN:
        yield from _booleans(raw)
    elif wanted.kind in (OptionKind.INTEGER, OptionKind.FLOAT):
        yield from _numbers(wanted, raw)
    elif wanted.kind is OptionKind.STRING and isinstance(raw, (bool, int, float)):
        yield _Guess(toml_text(raw), is_safe=not isinstance(raw, bool))  # a switch was meant
    elif wanted.kind is OptionKind.CHOICE:
        yield from _choices(wanted, raw)


def _booleans(raw: object) -> Iterator[_Guess]:
    word = str(raw).strip().casefold()
    if word in _YES | _NO and not isinstance(raw, list):
        yield _Guess(word in _YES, is_safe=word in ("true", "false"))


def _numbers(wanted: OptionType, raw: object) -> Iterator[_Guess]:
    python_type = int if wanted.kind is OptionKind.INTEGER else float
    if isinstance(raw, str):
        text = raw.strip()
        number = parse_scalar(text)
        if (
            isinstance(number, (int, float))
            and not isinstance(number, bool)
            and math.isfinite(number)
            and number == python_type(number)
        ):
            yield _Guess(python_type(number), is_safe=True)
        match = _NUMBER_AND_WORD.fullmatch(text)
        if match:
            yield from _with_unit(wanted, *match.groups())


def _with_unit(wanted: OptionType, number: str, word: str) -> Iterator[_Guess]:
    """Yield the quantity with the unit that was meant, and a percentage as a fraction."""
    if wanted.unit is not None:
        folded, others = word.casefold(), _SIZES if wanted.unit is Unit.BYTES else _TIMES
        same = [suffix for suffix in wanted.unit.suffixes if suffix.casefold() == folded][-1:]
        yield from (_Guess(f"{number} {suffix}") for suffix in (*same, others.get(folded)) if suffix)
    elif word == "%" and wanted.kind is OptionKind.FLOAT:
        yield _Guess(round(float(number) / 100, 12))


def _choices(wanted: OptionType, raw: object) -> Iterator[_Guess]:
    if isinstance(raw, bool) or not isinstance(raw, (str, int)):
        return
    text = str(raw).strip()
    also_called = wanted.also_called or {}
    scoped = _SCOPE.split(text)[-1]
    for spelling in (raw, text, scoped):
        if spelling in also_called:
            yield _Guess(also_called[spelling], is_safe=True)
    yield from (_Guess(choice, is_safe=True) for choice in wanted.choices if str(choice) == text)
    plain = _plain(text)
    same = [choice for choice in wanted.choices if _plain(str(choice)) in (plain, _plain(scoped))]
    if len(same) == 1:
        yield _Guess(same[0], is_safe=str(same[0]).casefold() == text.casefold())


def _plain(word: str) -> str:
    return re.sub(r"[-_\s]", "", word).casefold()


def _lists(wanted: OptionType, raw: object) -> Iterator[_Guess]:
    assert wanted.item is not None
    if isinstance(raw, str):
        items = _json_list(raw)
        if items is not None:
            yield _Guess(items, is_safe=True)
        inside = _inside_brackets(raw.strip())
        if inside is None:  # a list of lists, or a bracket without the other one: no item is certain
            return
        if "," in inside or inside != raw.strip():
            yield _Guess([part.strip() for part in inside.split(",") if part.strip()])
            yield _Guess([parse_scalar(part.strip()) for part in inside.split(",") if part.strip()])
    if isinstance(raw, (bool, int, float, str)):
        yield _Guess([raw])
        yield from (_Guess([guess.value]) for guess in _guesses(wanted.item, raw))


def _inside_brackets(text: str) -> str | None:
    """Return `a, b` for `[a, b]`, which a shell leaves that takes the quotes away, and for `a, b`.

    None if brackets or quotes are left.
    """
    is_bracketed = text.startswith("[") and text.endswith("]") and len(text) > 1
    inside = text[1:-1] if is_bracketed else text
    is_plain = not set("[]") & set(inside) and not (is_bracketed and set("\"'{}") & set(inside))
    return inside if is_plain else None


def _json_list(text: str) -> list[object] | None:
    try:
        found = json.loads(text) if text.strip().startswith("[") else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _advice(wanted: OptionType, raw: object) -> str | None:
    """Return an instruction where no value can be guessed."""
    if wanted.kind is OptionKind.CHOICE and len(wanted.choices) <= _MAX_LISTED:
        return f"write one of {', '.join(map(toml_text, wanted.choices))}"
    if wanted.kind in (OptionKind.RECORD, OptionKind.TABLE) and not isinstance(raw, Mapping):
        return f"write a table: {_written(wanted, raw)}"
    if wanted.kind is OptionKind.ARRAY and not isinstance(raw, (list, tuple)):
        return f"write an array: {_written(wanted, raw)}"
    return None


def _written(wanted: OptionType, raw: object) -> str:
    """Return an example of an array or table, in a file and on the command line."""
    in_file, in_override = _example(wanted, raw, as_json=False), _example(wanted, raw, as_json=True)
    return f"{in_file} in a file, '{in_override}' with --set in a shell"


def _example(wanted: OptionType, raw: object, *, as_json: bool) -> str:
    """Return a value of a type, with dots where the user's own belongs.

    Of several tables, it is the table that `raw` names, or the first.
    """
    if wanted.kind is OptionKind.ARRAY and wanted.item is not None:
        return f"[{_example(wanted.item, raw, as_json=as_json)}]"
    if wanted.kind is OptionKind.TABLE and wanted.item is not None:
        key = min(wanted.known_keys, key=len) if wanted.known_keys else "name"
        return _pair(key, _example(wanted.item, raw, as_json=as_json), as_json=as_json)
    if wanted.kind is OptionKind.RECORD:
        name, table = next(iter(wanted.tables_by_name.items()))
        if wanted.discriminator is not None:
            return _pair(wanted.discriminator, toml_text(table_meant(wanted, raw) or name), as_json=as_json)
        return _pair(next(iter(table.option_infos())), "...", as_json=as_json)
    if wanted.choices:
        return toml_text(wanted.choices[0])
    return '"..."' if wanted.kind is OptionKind.STRING else "..."


def _pair(key: str, value: str, *, as_json: bool) -> str:
    if as_json:
        return f'{{"{key}": {value}}}'
    return f"{{ {key if _BARE_KEY.fullmatch(key) else toml_text(key)} = {value} }}"
