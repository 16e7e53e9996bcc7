"""The values of options as plain data, and JSON in which no key is repeated."""

from __future__ import annotations

import enum
import json

_SCALARS = frozenset((bool, int, float, str, type(None)))


class RepeatedKeyError(ValueError):
    """An object of a JSON text has a key twice, and readers would not agree about its value.

    Attributes:
        key: The key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key!a} is repeated")
        self.key = key


def parse_json(text: str | bytes) -> object:
    """Parse a JSON text.

    Raises:
        RepeatedKeyError: a key is repeated.
        ValueError: the text is not JSON.
        RecursionError: it nests too deeply.
    """
    return json.loads(text, object_pairs_hook=_each_once)


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKeyError(next(name for name in names if names.count(name) > 1))
    return found


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
