"""`plain_values`: the values in the text of a fact sheet that has nothing wrong, at a tenth of the time."""

from __future__ import annotations

import json
from typing import Any

from etconfig.facts.json_text import parse_json_int
from etconfig.facts.registry import FactRegistry, FactValue
from etconfig.facts.sheet_json import (
    ENTRY_KEYS,
    MAX_SHEET_BYTES,
    MAX_SHEET_FACTS,
    SHEET_KEYS,
    SHEET_VERSION,
    VERSION_KEY,
)

_SHEET, _ENTRY = frozenset(SHEET_KEYS), frozenset(ENTRY_KEYS)
_TUPLES = json.JSONDecoder(parse_int=parse_json_int, object_pairs_hook=tuple)
"""Makes objects tuples of their members, so that a repeated key shows and arrays stay apart."""


class _NotPlainError(Exception):
    """The text is wrong, or unusual."""


def plain_values(text: str, registry: FactRegistry) -> dict[str, FactValue] | None:
    """Return the known values in a sheet if all of it is plainly right, else None.

    It makes no facts and finds no places in the text. What it accepts, `parse_sheet` accepts with the same
    values; `parse_sheet` reports what is wrong with the rest.
    """
    if len(text) > MAX_SHEET_BYTES:
        return None
    try:
        sheet = _members(_TUPLES.decode(text), _SHEET)
        version, facts = sheet.get(VERSION_KEY), sheet.get("facts")
        if type(version) is not int or version != SHEET_VERSION or type(facts) is not tuple:
            return None
        entries = dict(facts)
        if len(entries) < len(facts) or len(facts) > MAX_SHEET_FACTS:
            return None
        return _known_values(entries, registry)
    except (ValueError, RecursionError, _NotPlainError):
        return None


def _known_values(entries: dict[str, Any], registry: FactRegistry) -> dict[str, FactValue]:
    values: dict[str, FactValue] = {}
    for name, members in entries.items():
        info = registry.get(name)
        if info is None:
            raise _NotPlainError
        entry = _members(members, _ENTRY)
        for key in ("origin", "unknown"):
            if key in entry and not (isinstance(entry[key], str) and entry[key].isprintable()):
                raise _NotPlainError
        if entry.get("unit", info.unit) != info.unit or ("value" in entry) == ("unknown" in entry):
            raise _NotPlainError
        if "value" in entry:
            if type(entry["value"]) is tuple:  # an object, which is never a value
                raise _NotPlainError
            values[name] = info.check(entry["value"])
    return values


def _members(pairs: object, keys: frozenset[str]) -> dict[str, Any]:
    """Return the members of an object that has only these keys, each once."""
    if type(pairs) is not tuple:
        raise _NotPlainError
    members = dict(pairs)
    if len(members) < len(pairs) or not members.keys() <= keys:
        raise _NotPlainError
    return members
