"""Byte counts as text."""

from __future__ import annotations

_BINARY_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def format_bytes(count: int) -> str:
    """Format a byte count in the largest unit that keeps it at 1 or more: `1.5 MiB`."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_BINARY_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.4g} {_BINARY_UNITS[unit]}"
