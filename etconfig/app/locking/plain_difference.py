"""Differences between two values of plain data, each with its place: what a lock says has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from etconfig.resolver.explaining.difference import ABSENT_TEXT, canonical

ABSENT = object()
"""Stands for a value that is missing on one side."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_MAX_DEPTH = 100


def plain_differences(old: object, new: object, path: str = "") -> Iterator[str]:
    """Yield a line for each difference, such as `options.XnnpackBackend.num_threads: 2 → 4`.

    Tables differ by key, whatever their order, and arrays by item; true, 1 and 1.0 are three values.

    Args:
        old: A value as JSON has it, or `ABSENT`.
        new: Another one.
        path: The place of both; the line has no place if it is empty.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from plain_differences(old.get(key, ABSENT), new.get(key, ABSENT), _below(path, key))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _item_differences(old, new, path)
    elif _text(old) != _text(new):
        place = f"{path}: " if path else ""
        yield f"{place}{_text(old)} → {_text(new)}"


def is_too_deep(value: object) -> bool:
    """Return True if tables and arrays are nested so deeply that comparing them could fail."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        inner = (v.values() if isinstance(v, dict) else v for v in level if isinstance(v, (dict, list)))
        level = [item for items in inner for item in items]
        if not level:
            return False
    return True


def _item_differences(old: list[object], new: list[object], path: str) -> Iterator[str]:
    """Yield the differences of two arrays, without the equal items at both ends: most changes insert one."""
    texts = [_text(item) for item in old], [_text(item) for item in new]
    shorter = min(map(len, texts))
    start = next((i for i in range(shorter) if texts[0][i] != texts[1][i]), shorter)
    rest = shorter - start
    end = next((i for i in range(rest) if texts[0][-1 - i] != texts[1][-1 - i]), rest)
    for index in range(start, max(map(len, texts)) - end):
        before, after = (each[index] if index < len(each) - end else ABSENT for each in (old, new))
        yield from plain_differences(before, after, f"{path}[{index}]")


def _below(path: str, key: str) -> str:
    name = key if _BARE_KEY.fullmatch(key) else canonical(key)
    return f"{path}.{name}" if path else name


def _text(value: object) -> str:
    return ABSENT_TEXT if value is ABSENT else "none" if value is None else canonical(value)
