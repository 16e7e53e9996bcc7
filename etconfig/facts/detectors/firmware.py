"""What firmware says of a device, if its maker said anything."""

from __future__ import annotations

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


def filled_in(text: str | None) -> str | None:
    """`text`, or None when it is empty or what firmware says when nothing was filled in."""
    return text if text and text.lower() not in _PLACEHOLDERS else None
