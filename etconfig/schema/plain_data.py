"""Values of options as plain data."""

from __future__ import annotations

import enum


def jsonable(value: object) -> object:
    """An option's value as JSON can hold it: enum members by value, tuples as lists."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    return value
