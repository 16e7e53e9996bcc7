"""The values of options as plain data."""

from __future__ import annotations

import enum

_SCALARS = frozenset((bool, int, float, str, type(None)))


def jsonable(value: object) -> object:
    """Return an option's value as plain data for JSON.

    Enum members become their values, tuples lists, and tables of options dictionaries.
    """
    if type(value) in _SCALARS:
        return value
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    infos = getattr(type(value), "option_infos", None)
    if infos is not None:
        return {name: jsonable(getattr(value, name)) for name in infos()}
    return value
