"""Numbers with a unit, such as `1.5 GiB`, read from text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

BYTE_SIZES: Mapping[str, int] = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
"""The bytes of each unit of memory."""

DECIMAL_PATTERN = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
"""The pattern of a quantity's number, bounded so that hostile files cannot cause long computations."""

_QUANTITY = re.compile(rf"({DECIMAL_PATTERN}) ?([A-Za-z]+)")


def scaled_number(text: str, sizes: Mapping[str, int] | Mapping[str, Fraction]) -> Fraction:
    """Return the exact number in a text such as "512 MiB" or "0.5 ms".

    Raises:
        ValueError: `text` is not a number with one of the units; the message says how to write one.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in sizes:
        raise ValueError(f"write a number and one of {', '.join(sizes)}")
    return Fraction(match[1]) * sizes[match[2]]
