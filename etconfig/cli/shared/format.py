"""Values formatted for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.base.number_text import format_bytes

if TYPE_CHECKING:
    from etconfig.facts.fact import Fact
    from etconfig.facts.sheet import FactSheet


def format_count(count: int, noun: str) -> str:
    """Format a number of things: `1 file`, `2 files`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_fact(fact: Fact, limit: int = 60) -> str:
    """Format the value of a known fact with its unit, shortened to `limit` characters."""
    value = fact.value
    if fact.unit == "bytes" and isinstance(value, int):
        return format_bytes(value)
    text = ", ".join(value) if isinstance(value, (list, tuple)) else str(value)
    if fact.unit:
        text = f"{text} {fact.unit}"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def format_known(sheet: FactSheet, name: str) -> str:
    """Format the value of a known fact of a sheet; what identifies the device is not shown."""
    return str(sheet.shown_values[name]) if sheet.is_hidden(name) else format_fact(sheet[name])
