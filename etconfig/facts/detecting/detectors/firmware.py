"""Texts from firmware, which vendors often leave as placeholders."""

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
    """Return `text`, or None if it is empty or a placeholder."""
    return text if text and text.lower() not in _PLACEHOLDERS else None
