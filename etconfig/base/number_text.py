"""Numbers, sizes and durations as texts for people."""

from __future__ import annotations

_BINARY_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def format_bytes(count: int) -> str:
    """Format a byte count in the largest unit that keeps it at 1 or more: `1.5 MiB`."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_BINARY_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.4g} {_BINARY_UNITS[unit]}"


def format_seconds(seconds: float) -> str:
    """Format a duration in the unit that suits it: `1.25 ms`."""
    if seconds >= 1:
        return f"{format_number(seconds)} s"
    if seconds >= 1e-3:
        return f"{format_number(seconds * 1e3)} ms"
    return f"{format_number(seconds * 1e6)} µs"


def format_number(number: float) -> str:
    """Format a number with three digits, or a larger one as an integer: `0.28`, `41,300`."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
