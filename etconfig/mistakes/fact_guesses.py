"""Guesses at the fact, or its value, that was meant; imported only for wrong names and values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache

from etconfig.diagnostics.suggest import edit_distance, is_certain, nearest
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import INDEX, INDEX_PATTERN, FactInfo, FactRegistry, FactType, FactValue

_MAX_NAME_LENGTH = 200
_LETTERS_PER_EDIT = 5
"""One letter in so many may be wrong in a typo of a whole name."""
_CORE = frozenset(BUILTIN_FACTS.names)
_PREFIX_LENGTH = 3
_FILLERS = frozenset({INDEX, "num", "number"})
_INFIX = f".{INDEX}"
_NUMBER = re.compile(INDEX_PATTERN)
_WRITTEN_NUMBER = re.compile(r"-?[0-9][0-9_]{0,18}(?:\.[0-9]{1,15})?")
_PERCENT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?%")
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(?:([kKMGT])(i?))?B")
_POWERS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def likely_facts(name: str, registry: FactRegistry) -> tuple[str, ...]:
    """Return the facts that `name` most likely means; several if they fit equally well.

    A typo of one name is that name, whatever words others share with it. Then words count before letters:
    `available_cores.cpu` has the words of `cpu.available_cores`. Of equal candidates, core's facts come
    before plugins' facts. A missing index becomes 0.
    """
    if len(name) > _MAX_NAME_LENGTH:
        return ()
    parts = name.split(".")
    indices = [part for part in parts if _NUMBER.fullmatch(part)]
    # Any number counts as an index here: a file may contain very many, and the answer is remembered.
    hidden = _without_numbers(name)
    return tuple(_with_indices(found, indices) for found in _likely(hidden, registry.names))


def is_certain_fact(name: str, guess: str) -> bool:
    """Return True if each word of `name` is one of the fact `guess`, so that a program may replace the name.

    `battery.level` certainly means `power.battery_level`, but `cpu.min_frequency` not `cpu.max_frequency`.
    """
    written, known = _words(_without_numbers(name).removeprefix("facts.")), _words(_without_numbers(guess))
    is_known = all(any(each.startswith(word) or _same_word(word, each) for each in known) for word in written)
    return is_known or is_certain(name, guess, ())


def _without_numbers(name: str) -> str:
    return ".".join(INDEX if part.isdecimal() else part for part in name.split("."))


def _with_indices(pattern: str, indices: list[str]) -> str:
    """Replace the placeholders of a family by `indices`, then by 0."""
    for index in indices:
        pattern = pattern.replace(INDEX, index, 1)
    return pattern.replace(INDEX, "0")


@lru_cache(maxsize=4096)
def _likely(hidden: str, names: tuple[str, ...]) -> tuple[str, ...]:
    if "." not in hidden:
        of_namespace = [name for name in names if name.startswith(f"{hidden}.")]
        if of_namespace:
            main = f"{hidden}.name"
            return (main,) if main in of_namespace else tuple(of_namespace)
    typo = _typo(hidden, names)
    if typo is not None:
        return (typo,)
    is_of_plugin = _has_namespace((name for name in names if name not in _CORE), hidden.partition(".")[0])
    core = tuple(name for name in names if name in _CORE)
    for known in (names,) if is_of_plugin else (core, names):
        found = _sharing_words(hidden, known)
        guess = nearest(hidden, known) if not found else None
        if found or guess is not None:
            return found or (str(guess),)
    return ()


def _has_namespace(names: Iterable[str], namespace: str) -> bool:
    return any(name.startswith(f"{namespace}.") for name in names)


def _typo(hidden: str, names: tuple[str, ...]) -> str | None:
    """Return the name nearest by edits, if it has all digits and is near enough to be a typo; else None.

    A namespace that exists is not a typo of another one: `cpu.count` does not mean `gpu.count`.
    """
    namespace, limit = hidden.partition(".")[0], max(1, len(hidden) // _LETTERS_PER_EDIT)
    own = f"{namespace}." if _has_namespace(names, namespace) else ""
    plain = {
        name.replace(_INFIX, ""): name
        for name in names
        if name.startswith(own) and _digits(name) == _digits(hidden)
    }
    written = hidden.replace(_INFIX, "")
    guess = written if written in plain else nearest(written, plain)
    return plain[guess] if guess and edit_distance(written, guess, limit) <= limit else None


def _digits(name: str) -> str:
    return "".join(filter(str.isdecimal, name))


def _sharing_words(hidden: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names with the most words of `hidden`, beside the namespace; its own namespace first."""
    namespace, words = hidden.partition(".")[0], _words(hidden)
    best: tuple[int, bool, bool, bool] = (0, False, False, False)
    found: list[str] = []
    for name in names:
        own = _words(name)[1:]
        shared = sum(any(_same_word(word, known) for word in words) for known in own)
        in_another_order = name.partition(".")[0] in words
        rank = (shared, name.startswith(f"{namespace}."), shared == len(own), in_another_order)
        if shared and rank > best:
            best, found = rank, []
        if shared and rank == best:
            found.append(name)
    is_elsewhere = not best[1] and _has_namespace(names, namespace)
    if is_elsewhere and len(found) > 1:  # for `cpu.count`, `gpu.count` and `npu.count` are equally poor
        return tuple(name for name in names if name.startswith(f"{namespace}."))
    return tuple(found)


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name in the singular, without indices and fillers."""
    words = [word for word in re.split(r"[._]+", name.casefold()) if word and word not in _FILLERS]
    return tuple(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)


@lru_cache(maxsize=4096)  # names of one file share their words
def _same_word(written: str, known: str) -> bool:
    """Return True for the same word, its beginning (`avail`), or a typo of one letter in a longer word."""
    if written == known or (len(written) >= _PREFIX_LENGTH and known.startswith(written)):
        return True
    return len(known) > _PREFIX_LENGTH and edit_distance(written, known, 1) <= 1


def likely_value(info: FactInfo, value: object) -> FactValue | None:
    """Return the value that `value` most likely means, which `info` accepts; None if there is none."""
    for guess in _guesses(info, value):
        try:
            return info.check(guess)
        except ValueError:
            continue
    return None


def fact_value_in_toml(value: FactValue) -> str:
    """Return a value as TOML has it."""
    return json.dumps(value, ensure_ascii=False)


def _guesses(info: FactInfo, value: object) -> Iterator[object]:
    if isinstance(value, float) and value.is_integer() and info.type is FactType.INT:
        yield int(value)
    if isinstance(value, (int, float)) and info.unit == "fraction" and not isinstance(value, bool):
        yield value / 100
    if isinstance(value, str):
        yield from _meant_by_text(info, value)


def _meant_by_text(info: FactInfo, value: str) -> Iterator[object]:
    text = value.strip().lstrip("=").strip().strip("\"'")
    if info.type is FactType.STRING_LIST:
        items = [part.strip().strip("\"'") for part in text.strip("[](){}").split(",")]
        yield tuple(item for item in items if item)
    elif info.type is FactType.BOOL and text.casefold() in ("true", "false"):
        yield text.casefold() == "true"
    elif info.type is FactType.STRING and text != value:
        yield text
    else:
        yield from _numbers(info, text)


def _numbers(info: FactInfo, text: str) -> Iterator[float]:
    if _WRITTEN_NUMBER.fullmatch(text):
        number = float(text.replace("_", ""))
        yield int(number) if number.is_integer() and info.type is FactType.INT else number
    elif percent := _PERCENT.fullmatch(text):
        yield float(percent.group(1)) / 100
    elif (size := size_of(text)) and info.unit == "bytes":
        yield int(Fraction(size[0]) * size[1] ** size[2])


def size_of(text: str) -> tuple[str, int, int] | None:
    """Return the number, the base and the power for a size such as `4GiB`; None for another text."""
    match = _SIZE.fullmatch(text)
    return match and (match[1], 1024 if match[3] else 1000, _POWERS.get(match[2], 0))
