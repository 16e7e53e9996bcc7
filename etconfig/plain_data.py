"""The values of options as plain data."""

from __future__ import annotations

import enum


def jsonable(value: object) -> object:
    """Return an option's value as plain data for JSON: enum members by value, tuples as lists."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    return value
