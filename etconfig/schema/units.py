"""Units of options, and quantities such as "512 MiB" or "20 ms"."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from fractions import Fraction

from etconfig.base.quantities import BYTE_SIZES, scaled_number


class Unit(enum.Enum):
    """The unit of a number. Options of bytes and of time also accept text with a unit."""

    BYTES = "bytes"
    NANOSECONDS = "ns"
    MICROSECONDS = "us"
    MILLISECONDS = "ms"
    SECONDS = "s"
    HERTZ = "hz"
    FRAMES_PER_SECOND = "fps"
    THREADS = "threads"
    CORES = "cores"
    COUNT = "count"
    FRACTION = "fraction"
    PERCENT = "percent"
    CELSIUS = "celsius"

    @property
    def suffixes(self) -> Mapping[str, Fraction]:
        """The factor of each accepted suffix, in this unit; empty if text is not accepted."""
        return _SUFFIXES.get(self, {})

    @property
    def example(self) -> str | None:
        """A text that is accepted as a quantity of this unit, or None if text is not accepted."""
        if self is Unit.BYTES:
            return "512 MiB"
        return "20 ms" if self in _SUFFIXES else None


_DURATIONS: Mapping[str, Fraction] = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}

_SIZES: Mapping[Unit, Fraction] = {
    **{Unit(name): _DURATIONS[name] for name in ("ns", "us", "ms", "s")},
    Unit.FRACTION: Fraction(1),
    Unit.PERCENT: Fraction(1, 100),
}
"""The sizes of the units that convert into each other: times, and parts of a whole."""

_TIMES = (Unit.NANOSECONDS, Unit.MICROSECONDS, Unit.MILLISECONDS, Unit.SECONDS)

_SUFFIXES: Mapping[Unit, Mapping[str, Fraction]] = {
    Unit.BYTES: {suffix: Fraction(size) for suffix, size in BYTE_SIZES.items()},
    **{
        unit: {suffix: size / _DURATIONS[unit.value] for suffix, size in _DURATIONS.items()}
        for unit in _TIMES
    },
}

_COUNTS = frozenset(unit.value for unit in (Unit.THREADS, Unit.CORES, Unit.COUNT))


def units_agree(unit: str, other: str) -> bool:
    """True if a number of one unit is the same number of the other: units of counts are."""
    return unit == other or (unit in _COUNTS and other in _COUNTS)


def unit_conversion(unit: str, other: str) -> str | None:
    """Return what turns a number of one unit into the other, such as `* 1000`; None if nothing does."""
    factors = {each.value: size for each, size in _SIZES.items()}
    if unit not in factors or other not in factors or (unit in _DURATIONS) != (other in _DURATIONS):
        return None
    ratio = factors[unit] / factors[other]
    return f"* {ratio.numerator}" if ratio >= 1 else f"/ {ratio.denominator}"


def parse_quantity(text: str, unit: Unit) -> Fraction:
    """Return the exact number of `unit` in a text such as "512 MiB" or "0.5 ms".

    Raises:
        ValueError: `text` is not a quantity, or its suffix does not fit `unit`; the message says how to write
            one.
    """
    return scaled_number(text, unit.suffixes)
