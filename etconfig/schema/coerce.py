"""The only rule that turns a value from TOML into the value of an option.

Accepted are the option's own type, text with a unit for byte sizes and times, an enum member or its value,
an array for a tuple, and a table for an `OptionTable`. Nothing else is: `1` is not a float, `true` is not an
integer, and the name of an enum member in Python is not its value. Integers have 64 bits.
"""

from __future__ import annotations

import enum
import math
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from etconfig.base.plain_data import RepeatedKeyError, jsonable
from etconfig.base.records import record
from etconfig.diagnostics import Respelling, guessed, nearest, nearest_word, shown_names_near
from etconfig.diagnostics.error_text import error_text
from etconfig.schema.declaration import MISSING
from etconfig.schema.known_keys import KnownKey, text_meant
from etconfig.schema.option_type import INT64_MAX, INT64_MIN, OptionKind, OptionType
from etconfig.schema.units import Unit, parse_quantity
from etconfig.schema.value_text import parse_scalar

_MAX_FURTHER = 20
"""The most mistakes of one value that are reported."""
_MAX_SHOWN = 60
_MAX_SHOWN_TABLES = 100
_KEY = OptionType(kind=OptionKind.STRING)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SIZE_HELP = f"integers have 64 bits: {INT64_MIN} to {INT64_MAX}"

_KIND_NAMES: Mapping[type, str] = {
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    str: "a string",
    list: "an array",
    tuple: "an array",
    dict: "a table",
}


@record(frozen=True, kw_only=True)
class Mismatch:
    """The reason why a value does not fit its option.

    Attributes:
        expected: The value expected, such as `an integer >= 1`.
        given: The value found, such as `'two' (a string)`.
        path: Its position inside an array or table, such as `(2,)`; empty for the value itself.
        help: How to write it correctly, if that can be guessed.
        respelling: The help as a change of the text, if it is a single word.
        is_key: True if the last key of the path itself does not fit, rather than its value.
        is_explained: True if nothing better can be guessed than `help`.
        further: What else is wrong in the same array or table.
    """

    expected: str
    given: str
    path: tuple[str | int, ...] = ()
    help: str | None = None
    respelling: Respelling | None = None
    is_key: bool = False
    is_explained: bool = False
    further: tuple[Mismatch, ...] = ()

    def below(self, key: str | int) -> Mismatch:
        """Return the same of an array or table in which the value has this index or key."""
        further = tuple(each.below(key) for each in self.further)
        return replace(self, path=(key, *self.path), further=further)

    @property
    def place(self) -> str:
        """The path in words, such as `[2]`; empty for the value itself."""
        return "".join(f"[{key}]" if isinstance(key, int) else f".{_shown_key(key)}" for key in self.path)

    @property
    def message(self) -> str:
        """A sentence with the value expected and the value found."""
        return f"expected {self.expected}, given {self.given}"


def coerce(wanted: OptionType, raw: object) -> object | Mismatch:
    """Convert `raw` to a value of a type within its bounds.

    A value that already has the type stays as it is.

    Args:
        wanted: The type.
        raw: A value from TOML, JSON or Python.

    Returns:
        The value, or what does not fit.
    """
    if raw is None and wanted.is_optional:
        return None
    if isinstance(raw, RepeatedKeyError):
        return Mismatch(expected="each key of a table once", given=f"{raw.key!r} twice", help="leave out one")
    value = _COERCIONS[wanted.kind](wanted, raw)
    if isinstance(value, Mismatch):
        return value
    for constraint in wanted.constraints:
        if not constraint.is_satisfied(value):
            return Mismatch(expected=wanted.expected, given=show_value(raw))
    return value


def show_value(raw: object) -> str:
    """Return a value as written in TOML, shortened; None, which TOML does not have, becomes `none`."""
    if raw is None:
        return "none"
    if isinstance(raw, enum.Enum):
        raw = raw.value
    if _has_tables(raw):
        text = _tables_text(raw, is_brief=False)
        return text if len(text) <= _MAX_SHOWN_TABLES else _cut(_tables_text(raw, is_brief=True))
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, int) and raw.bit_length() > 4 * _MAX_SHOWN:
        return "a very large integer"  # Python refuses to print more than 4300 digits
    text = reprlib.repr(raw) if isinstance(raw, (list, tuple, dict)) else repr(raw)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."


def _tables_text(value: object, *, is_brief: bool) -> str:
    """Return tables of options with what differs from their defaults.

    Briefly, with what tells them apart, and with what is unchecked.
    """
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_tables_text(item, is_brief=is_brief) for item in value)}]"
    if isinstance(value, dict):
        pairs = (f"{key!r}: {_tables_text(item, is_brief=is_brief)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if not hasattr(type(value), "is_option_table"):
        return repr(jsonable(value))
    infos = type(value).option_infos()  # type: ignore[attr-defined]  # of a table
    values = {name: getattr(value, name) for name in infos}
    kinds = {
        name
        for name, info in infos.items()
        if info.type.kind is OptionKind.CHOICE and len(info.type.choices) == 1
    }
    changed = [name for name in infos if name not in kinds and values[name] != infos[name].default]
    told = [name for name in changed if not (is_brief and kinds) or name == "unchecked"]
    shown = [*(name for name in infos if name in kinds), *told]
    texts = [f"{name!r}: {_tables_text(values[name], is_brief=is_brief)}" for name in shown]
    if len(shown) < len(kinds) + len(changed):
        texts.append("...")
    return f"{{{', '.join(texts)}}}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_TABLES else text[: _MAX_SHOWN_TABLES - 3] + "..."


def _has_tables(value: object) -> bool:
    """True for a table of options, and for an array or table of them."""
    if isinstance(value, (list, tuple, dict)):
        return any(map(_has_tables, value.values() if isinstance(value, dict) else value))
    return hasattr(type(value), "is_option_table")


def _shown_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else repr(key)


def _mismatch(
    wanted: OptionType, raw: object, help_text: str | None = None, respelling: Respelling | None = None
) -> Mismatch:
    given = show_value(raw)
    if raw is not None:
        given += f" ({_KIND_NAMES.get(type(raw), f'a Python {type(raw).__name__}')})"
    return Mismatch(expected=wanted.expected, given=given, help=help_text, respelling=respelling)


def _boolean(wanted: OptionType, raw: object) -> object | Mismatch:
    return raw if isinstance(raw, bool) else _mismatch(wanted, raw, _without_quotes(wanted, raw))


def _number(wanted: OptionType, raw: object) -> object | Mismatch:
    if isinstance(raw, str) and wanted.unit is not None:
        return _quantity(wanted, wanted.unit, raw)
    python_type = int if wanted.kind is OptionKind.INTEGER else float
    # bool is a subclass of int, but TOML distinguishes the two.
    if isinstance(raw, python_type) and not isinstance(raw, bool):
        if python_type is float and not math.isfinite(raw):
            return _mismatch(wanted, raw, "write a finite number")
        if python_type is int and not INT64_MIN <= raw <= INT64_MAX:
            return _mismatch(wanted, raw, _SIZE_HELP)
        return raw if type(raw) is python_type else python_type(raw)
    number = _same_number(raw, python_type)
    if number is not None and not isinstance(coerce(wanted, parse_scalar(number)), Mismatch):
        return _mismatch(wanted, raw, f"write {number}", Respelling(repr(raw), number, is_safe=True))
    return _mismatch(wanted, raw, _without_quotes(wanted, raw))


def _quantity(wanted: OptionType, unit: Unit, text: str) -> object | Mismatch:
    try:
        exact = parse_quantity(text, unit)
    except ValueError as error:
        return _mismatch(wanted, text, str(error))
    if wanted.kind is OptionKind.FLOAT:
        return float(exact)
    if exact.denominator == 1:
        return exact.numerator if exact <= INT64_MAX else _mismatch(wanted, text, _SIZE_HELP)
    return _mismatch(wanted, text, f"give a whole number of {unit.value}")


def _string(wanted: OptionType, raw: object) -> object | Mismatch:
    if isinstance(raw, str):
        if not raw.isascii() and any("\ud800" <= character <= "\udfff" for character in raw):
            return _mismatch(wanted, raw, "it contains half a character, which UTF-8 cannot encode")
        return raw if type(raw) is str else str.__str__(raw)
    is_number = isinstance(raw, (int, float)) and not isinstance(raw, bool)
    fits = is_number and not isinstance(coerce(wanted, show_value(raw)), Mismatch)
    return _mismatch(wanted, raw, f'write "{show_value(raw)}"' if fits else None)


def _choice(wanted: OptionType, raw: object) -> object | Mismatch:
    enum_class = wanted.enum_class
    if enum_class is None:
        # 1 equals True and 1.0, so the types must be equal too.
        is_choice = any(type(raw) is type(choice) and raw == choice for choice in wanted.choices)
        return raw if is_choice else _no_choice(wanted, raw)
    if isinstance(raw, enum_class):
        return raw
    member = wanted.members_by_text.get(raw) if isinstance(raw, str) else None
    return _no_choice(wanted, raw) if member is None else member


def _no_choice(wanted: OptionType, raw: object) -> Mismatch:
    if isinstance(raw, str) and wanted.enum_class is not None and raw in wanted.enum_class.__members__:
        value = wanted.enum_class[raw].value
        return _mismatch(wanted, raw, f"write {value!r}", Respelling(raw, value, is_safe=True))
    words = [choice for choice in wanted.choices if isinstance(choice, str)]
    guess = nearest_word(raw, words) if isinstance(raw, str) else None
    if guess is None:
        return _mismatch(wanted, raw)
    return _mismatch(wanted, raw, f"did you mean {guess!r}?", Respelling(str(raw), guess))


def _array(wanted: OptionType, raw: object) -> object | Mismatch:
    assert wanted.item is not None
    if not isinstance(raw, (list, tuple)):
        return _mismatch(wanted, raw)
    items, wrong = [], []
    for index, raw_item in enumerate(raw):
        item = coerce(wanted.item, raw_item)
        if isinstance(item, Mismatch):
            wrong.append(item.below(index))
        items.append(item)
    if wrong:
        return _together(wrong)
    return tuple(items) if wanted.is_tuple else items


def _together(wrong: Sequence[Mismatch]) -> Mismatch:
    """Return the first mismatch, with the others as further ones."""
    every = [each for found in wrong for each in (found, *found.further)][:_MAX_FURTHER]
    return replace(every[0], further=tuple(replace(each, further=()) for each in every[1:]))


def _table(wanted: OptionType, raw: object) -> object | Mismatch:
    assert wanted.item is not None
    if not isinstance(raw, Mapping):
        return _mismatch(wanted, raw)
    values, wrong = {}, []
    for key, raw_value in raw.items():
        problem = _key_problem(wanted, key, raw_value)
        value = coerce(wanted.item, raw_value) if problem is None else problem
        if isinstance(value, Mismatch):
            wrong.append(value.below(key) if problem is None else value)
        else:
            values[key if type(key) is str else str.__str__(key)] = value
    return _together(wrong) if wrong else values


def _key_problem(wanted: OptionType, key: object, raw: object) -> Mismatch | None:
    """Return the reason why a table may not have this key with this value, as far as its keys decide."""
    fitting = coerce(_KEY, key)
    if isinstance(fitting, Mismatch) or not isinstance(key, str):
        return Mismatch(expected="keys that are strings", given=show_value(key))
    if wanted.known_keys is None:
        return None
    known = wanted.known_keys.get(key)
    if known is not None:
        return None if isinstance(raw, str) and known.accepts(raw) else _text_problem(known, key, raw)
    of_options = wanted.keys_of_options or {}
    guess = nearest(key, (*wanted.known_keys, *of_options))
    own = of_options.get(key) or of_options.get(guess or "")
    if own is not None:
        return Mismatch(
            expected="a known key",
            given=show_value(key),
            path=(key,),
            help=f"set the option {own!r} instead",
            is_key=True,
            is_explained=True,
        )
    return Mismatch(
        expected="a known key",
        given=show_value(key),
        path=(key,),
        help=f"did you mean {guess!r}?" if guess else _help_with_key(wanted),
        respelling=guessed(key, guess, wanted.known_keys),
        is_key=True,
        is_explained=True,
    )


def _help_with_key(wanted: OptionType) -> str:
    look = (
        "look its name up among the known keys and the options: an engine ignores keys that it does not know"
    )
    if wanted.newer_keys is None:
        return look
    return f"{look}; if yours is newer than this list and knows it, set it in {wanted.newer_keys!r}"


def _text_problem(known: KnownKey, key: str, raw: object) -> Mismatch:
    meant = text_meant(known, raw)
    if meant is None and isinstance(raw, str) and known.texts:
        guess = nearest_word(raw, known.texts)
        help = f"did you mean {guess!r}?" if guess else f"write {', '.join(map(repr, known.texts))}"
    else:
        guess, help = None, f'write "{meant}"' if meant is not None else f"write {known.expected}"
    found = _mismatch(_KEY, raw, help)
    return replace(
        found,
        expected=known.expected,
        path=(key,),
        respelling=Respelling(str(raw), guess) if guess else None,
        is_explained=True,
    )


def _record(wanted: OptionType, raw: object) -> object | Mismatch:
    if type(raw) in wanted.tables:
        return raw
    if not isinstance(raw, Mapping):
        return _mismatch(wanted, raw)
    table = wanted.tables[0]
    if wanted.discriminator is not None:
        chosen = _chosen_table(wanted, wanted.discriminator, raw)
        if isinstance(chosen, Mismatch):
            return chosen
        table = chosen
    infos, values, wrong = table.option_infos(), {}, []
    for name, raw_value in raw.items():
        info = infos.get(name)
        value = _unknown_field(table, name) if info is None else coerce(info.type, raw_value)
        if isinstance(value, Mismatch):
            wrong.append(value if info is None else value.below(name))
        else:
            values[name] = value
    if wrong:
        return _together(wrong)
    for name, info in infos.items():
        if info.default is MISSING and name not in values:
            help = f"add {name}, {info.expected}"
            return Mismatch(
                expected=f"a table with {name}", given=show_value(raw), help=help, is_explained=True
            )
    return _made(wanted, table, values, raw)


def _chosen_table(wanted: OptionType, key: str, raw: Mapping[Any, object]) -> Any:
    """Return the class that the discriminator chooses, or a Mismatch."""
    known = wanted.tables_by_name
    listed = ", ".join(map(repr, known))
    if key not in raw:
        help = f'write {key} = "..." in it, with one of {listed}'
        return Mismatch(expected=f"a table with {key}", given=show_value(raw), help=help, is_explained=True)
    text = raw[key]
    if isinstance(text, str) and text in known:
        return known[text]
    choice = OptionType(kind=OptionKind.CHOICE, choices=tuple(known))
    guess = table_meant(wanted, text)
    help = f"did you mean {guess!r}?" if guess else f"write one of {listed}"
    respelling = Respelling(str(text), guess) if guess else None
    return replace(_mismatch(choice, text, help, respelling), path=(key,), is_explained=True)


def table_meant(wanted: OptionType, raw: object) -> str | None:
    """Return the name of the table that a text is, or certainly was meant to be, in a union of tables."""
    if not isinstance(raw, str):
        return None
    known = wanted.tables_by_name
    folded = raw.casefold()
    for name, table in known.items():
        if folded in map(str.casefold, (name, *table.also_called)):
            return name
    return nearest_word(raw, known)


def _unknown_field(table: Any, name: object) -> Mismatch:
    infos = table.option_infos()
    guess = nearest(name, infos) if isinstance(name, str) else None
    return Mismatch(
        expected=f"an option of {table.__name__}",
        given=show_value(name),
        path=(name,) if isinstance(name, str) else (),
        help=f"did you mean {guess!r}?" if guess else f"it has {shown_names_near(str(name), infos)}",
        respelling=guessed(str(name), guess, infos),
        is_key=isinstance(name, str),
        is_explained=True,
    )


def _made(wanted: OptionType, table: Any, values: Mapping[str, object], raw: object) -> object | Mismatch:
    """Return the table of values that are right one by one, or the reason why its own check refuses them."""
    assembly = table._assembly
    made: object = None if assembly is None else assembly.make(table, values)
    if made is not None:
        return made
    from pydantic import ValidationError

    try:
        made = table(**values)
    except ValidationError as error:
        causes = [detail.get("ctx", {}).get("error") or detail["msg"] for detail in error.errors()]
        reason = "; ".join(map(str, causes))
    except Exception as error:  # the table's own check, which is code of the plugin
        reason = f"its check failed: {error_text(error)}"
    else:
        return made
    expected = wanted.expected if wanted.discriminator is None else f"a table that {table.__name__} accepts"
    return Mismatch(expected=expected, given=show_value(raw), help=reason, is_explained=True)


_COERCIONS: Mapping[OptionKind, Callable[[OptionType, object], object | Mismatch]] = {
    OptionKind.BOOLEAN: _boolean,
    OptionKind.INTEGER: _number,
    OptionKind.FLOAT: _number,
    OptionKind.STRING: _string,
    OptionKind.CHOICE: _choice,
    OptionKind.ARRAY: _array,
    OptionKind.TABLE: _table,
    OptionKind.RECORD: _record,
}


def _same_number(raw: object, python_type: type) -> str | None:
    """Return `raw` written as the other type of number in TOML, if that is exactly the same number."""
    if python_type is float and type(raw) is int and abs(raw) < 10**15:
        return f"{raw}.0"
    if python_type is int and type(raw) is float and raw.is_integer() and abs(raw) < 10**15:
        return f"{raw:.0f}"
    return None


def _without_quotes(wanted: OptionType, raw: object) -> str | None:
    value = parse_scalar(raw) if isinstance(raw, str) else None
    is_other = value is not None and not isinstance(value, str)
    fits = is_other and not isinstance(coerce(wanted, value), Mismatch)
    return f"write {raw} without quotes" if fits else None
