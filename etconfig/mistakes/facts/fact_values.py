"""Guesses at the value of a fact that was meant by one of another type.

This module is imported only for values that are wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from etconfig.facts.registry import FactInfo, FactType, FactValue

_NUMBER = re.compile(r"-?[0-9][0-9_]{0,18}(?:\.[0-9]{1,15})?")
_PERCENT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?%")
_COMMA = re.compile(r"-?[0-9]{1,9},[0-9]{1,9}")
_SIZE = re.compile(r"([0-9]{1,9})(?:\.0)? ?([kKMGT])(i?)B")
_POWERS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


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
    if not isinstance(value, str):
        return
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
    if _NUMBER.fullmatch(text):
        number = float(text.replace("_", ""))
        yield int(number) if number.is_integer() and info.type is FactType.INT else number
    elif _COMMA.fullmatch(text):
        yield float(text.replace(",", "."))
    elif percent := _PERCENT.fullmatch(text):
        yield float(percent.group(1)) / 100
    elif (size := _SIZE.fullmatch(text)) and info.unit == "bytes":
        yield int(size.group(1)) * (1024 if size.group(3) else 1000) ** _POWERS[size.group(2)]
