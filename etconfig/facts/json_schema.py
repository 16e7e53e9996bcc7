"""JSON Schemas of fact sheets and of facts set by hand, for editors and other tools."""

from __future__ import annotations

import re

from etconfig.facts.registry import (
    INDEX,
    INDEX_PATTERN,
    INT_FACT_MAX,
    INT_FACT_MIN,
    FactInfo,
    FactRegistry,
    FactType,
)
from etconfig.facts.sheet_json import MAX_SHEET_FACTS, SHEET_VERSION, VERSION_KEY

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TYPES: dict[FactType, dict[str, object]] = {
    FactType.BOOL: {"type": "boolean"},
    FactType.INT: {"type": "integer"},
    FactType.FLOAT: {"type": "number"},
    FactType.STRING: {"type": "string"},
    FactType.STRING_LIST: {"type": "array", "items": {"type": "string"}},
}


def sheet_schema(registry: FactRegistry) -> dict[str, object]:
    """Return the schema of sheets with the facts of `registry`, in draft 2020-12.

    It accepts what `FactSheet.from_json` accepts, except for rules that a schema cannot express: that keys
    appear once, that strings are printable, and how long the text may be.
    """
    return {
        "$schema": DIALECT,
        "title": "etconfig fact sheet",
        "type": "object",
        "required": [VERSION_KEY, "facts"],
        "additionalProperties": False,
        "properties": {
            VERSION_KEY: {"const": SHEET_VERSION, "description": "The version of the format."},
            "facts": {
                "type": "object",
                "maxProperties": MAX_SHEET_FACTS,
                "additionalProperties": False,
                "properties": {info.name: _fact(info) for info in registry.infos if not info.is_family},
                "patternProperties": {
                    _pattern(info.name): _fact(info) for info in registry.infos if info.is_family
                },
            },
        },
    }


def facts_schema(registry: FactRegistry) -> dict[str, object]:
    """Return the schema of a table of facts set by hand, such as `[facts]` in a profile."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {info.name: _described(info) for info in registry.infos if not info.is_family},
        "patternProperties": {
            _pattern(info.name): _described(info) for info in registry.infos if info.is_family
        },
    }


def _described(info: FactInfo) -> dict[str, object]:
    return {"description": info.doc, **_value(info)}


def _fact(info: FactInfo) -> dict[str, object]:
    entry: dict[str, object] = {
        "value": _value(info),
        "unknown": {"type": "string", "description": "Why the value is not known."},
        "origin": {"type": "string", "description": "Where the value came from."},
    }
    if info.unit is not None:
        entry["unit"] = {"const": info.unit}
    return {
        "description": info.doc,
        "type": "object",
        "additionalProperties": False,
        "properties": entry,
        "oneOf": [{"required": ["value"]}, {"required": ["unknown"]}],
    }


def _value(info: FactInfo) -> dict[str, object]:
    lowest, highest = (INT_FACT_MIN, INT_FACT_MAX) if info.type is FactType.INT else (None, None)
    bounds = {
        "minimum": lowest if info.minimum is None else info.minimum,
        "maximum": highest if info.maximum is None else info.maximum,
        "enum": list(info.choices) if info.choices and info.type is FactType.STRING else None,
    }
    return _TYPES[info.type] | {key: value for key, value in bounds.items() if value is not None}


def _pattern(family: str) -> str:
    """Return a pattern for the members of a family such as `gpu.<n>.name`."""
    return f"^{re.escape(family).replace(re.escape(INDEX), INDEX_PATTERN)}$"
