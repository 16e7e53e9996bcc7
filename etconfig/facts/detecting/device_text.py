"""The rules for texts that a kernel or a command prints: their lines and their numbers.

`etconfig/facts.h` follows the same rules in C++, with buffers of a fixed size.
"""

from __future__ import annotations

import re

MAX_LINE_BYTES = 8192
"""The longest line that counts. The kernel prints a value on one page of memory."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_COUNT = re.compile(r"[0-9]{1,19}")
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1

_PLACEHOLDERS = frozenset(
    {
        "default string",
        "none",
        "not applicable",
        "not available",
        "not specified",
        "o.e.m.",
        "system manufacturer",
        "system product name",
        "to be filled by o.e.m.",
        "unknown",
    }
)


def text_lines(text: str | None) -> list[str]:
    """Return the lines of a text, without any longer than `MAX_LINE_BYTES` in UTF-8.

    Only a line feed ends a line; the last line may lack it.
    """
    if not text:
        return []
    lines = text.removesuffix("\n").split("\n")
    if len(text) * 4 <= MAX_LINE_BYTES:
        return lines
    return [line for line in lines if len(line) * 4 <= MAX_LINE_BYTES or is_short(line)]


def is_short(text: str) -> bool:
    """Return whether a text has at most `MAX_LINE_BYTES` in UTF-8."""
    return len(text.encode(errors="replace")) <= MAX_LINE_BYTES


def decimal_number(text: str) -> int | None:
    """Return the number that `text` is in decimal; None if 64 bits are too few for it."""
    return _bounded(text) if _INTEGER.fullmatch(text) else None


def decimal_count(text: str) -> int | None:
    """Return the number that `text` is in decimal digits; None if 64 bits with a sign are too few for it."""
    return _bounded(text) if _COUNT.fullmatch(text) else None


def bytes_of(count: int, unit_bytes: int) -> int | None:
    """Return the size of `count` units in bytes; None if 64 bits with a sign are too few for it."""
    size = count * unit_bytes
    return size if size <= _INT_MAX else None


def _bounded(digits: str) -> int | None:
    number = int(digits)
    return number if _INT_MIN <= number <= _INT_MAX else None


def filled_in(text: str | None) -> str | None:
    """Return `text`, or None if it is empty or a placeholder."""
    return text if text and text.lower() not in _PLACEHOLDERS else None
