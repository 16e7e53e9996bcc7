"""JSON Schema (draft 2020-12) of a backend's options, for editors and other tools.

Properties that JSON Schema does not know have names of the form `x-etconfig-*`. Two differences remain: JSON
Schema cannot distinguish `1` from `1.0`, and editors pass dates of TOML to it as texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from etconfig.base.plain_data import jsonable
from etconfig.base.quantities import DECIMAL_PATTERN
from etconfig.schema.declaration import MISSING, OptionInfo, Wire
from etconfig.schema.known_keys import KnownKey
from etconfig.schema.option_type import INT64_MAX, INT64_MIN, OptionKind, OptionType
from etconfig.schema.spec import BackendSpec
from etconfig.schema.units import Unit

JSON_SCHEMA_DRAFT = "https://json-schema.org/draft/2020-12/schema"

_TYPES = {
    OptionKind.BOOLEAN: "boolean",
    OptionKind.INTEGER: "integer",
    OptionKind.FLOAT: "number",
    OptionKind.STRING: "string",
    OptionKind.ARRAY: "array",
    OptionKind.TABLE: "object",
}

_LENGTH_KEYWORDS = {OptionKind.ARRAY: "Items", OptionKind.TABLE: "Properties"}


def json_schema(spec: BackendSpec) -> dict[str, Any]:
    """Return the schema of one table of options, such as `[options.XnnpackBackend]`.

    No option is in `required`, since a table may set only some of them; required options have
    `x-etconfig-required`.
    """
    properties = {name: _property(info) for name, info in spec.options.option_infos().items()}
    for former, current in spec.options.former_names().items():
        renamed = {"description": f"Renamed to {current}.", "deprecated": True}
        properties[former] = {**properties[current], **renamed}
    return {
        "$schema": JSON_SCHEMA_DRAFT,
        "title": spec.id,
        "description": spec.doc,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **_exclusions(spec),
    }


def _exclusions(spec: BackendSpec) -> dict[str, Any]:
    """Return the rule that a table sets an option by one of its names only."""
    pairs = [
        [name, former]
        for name, info in spec.options.option_infos().items()
        for name, former in combinations((name, *info.renamed_from), 2)
    ]
    return {"not": {"anyOf": [{"required": pair} for pair in pairs]}} if pairs else {}


def _property(info: OptionInfo) -> dict[str, Any]:
    schema = {**_type_schema(info.type), "description": info.doc}
    if info.default is not MISSING:
        schema["default"] = jsonable(info.default)
    if info.deprecated is not None:
        schema["deprecated"] = True
    extras = {
        "applies": info.applies.value,
        "scope": info.scope.value,
        "unit": None if info.unit is None else info.unit.value,
        "fromFact": info.from_fact,
        "since": info.since,
        "deprecated": info.deprecated,
        "required": info.is_required or None,
        "invalidatesCache": info.invalidates_cache or None,
        "wire": _wire(info.wire),
    }
    return schema | {f"x-etconfig-{key}": value for key, value in extras.items() if value is not None}


def _wire(wire: Wire) -> dict[str, Any] | None:
    if wire.key is None:
        return None
    parts = {
        "key": wire.key,
        "values": wire.values and dict(wire.values),
        "separator": wire.separator,
        "asText": wire.as_text or None,
    }
    return {key: value for key, value in parts.items() if value is not None}


def _table_schema(table: Any, discriminator: str | None) -> dict[str, Any]:
    """Return the schema of one class of tables of options."""
    infos: Mapping[str, OptionInfo] = table.option_infos()
    required = [name for name, info in infos.items() if info.is_required or name == discriminator]
    return {
        "title": table.__name__,
        "type": "object",
        "properties": {name: _field(info) for name, info in infos.items()},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _field(info: OptionInfo) -> dict[str, Any]:
    """Return the schema of a field of a table; the rest belongs to the option."""
    schema = {**_type_schema(info.type), "description": info.doc}
    if info.default is not MISSING:
        schema["default"] = jsonable(info.default)
    extras = {"unit": None if info.unit is None else info.unit.value, "since": info.since}
    return schema | {f"x-etconfig-{key}": value for key, value in extras.items() if value is not None}


def _type_schema(wanted: OptionType) -> dict[str, Any]:
    schema: dict[str, Any] = {"enum": list(wanted.choices)}
    if wanted.kind is OptionKind.RECORD:
        tables = [_table_schema(table, wanted.discriminator) for table in wanted.tables]
        schema = tables[0] if len(tables) == 1 else {"oneOf": tables}
    elif wanted.kind is not OptionKind.CHOICE:
        schema = {"type": _TYPES[wanted.kind]}
    if wanted.item is not None:
        schema["items" if wanted.kind is OptionKind.ARRAY else "additionalProperties"] = _type_schema(
            wanted.item
        )
    if wanted.known_keys is not None:
        schema["properties"] = {key: _known_key(known) for key, known in wanted.known_keys.items()}
        schema["additionalProperties"] = False
    length = _LENGTH_KEYWORDS.get(wanted.kind, "Length")
    schema |= {constraint.keyword(length): constraint.bound for constraint in wanted.constraints}
    if wanted.kind is OptionKind.INTEGER:
        schema |= {key: bound for key, bound in _missing_bounds(schema).items() if key not in schema}
    alternatives = [schema]
    if wanted.unit is not None:
        alternatives.append({"type": "string", "pattern": _quantity_pattern(wanted.unit)})
    if wanted.is_optional:
        alternatives.append({"type": "null"})
    return schema if len(alternatives) == 1 else {"anyOf": alternatives}


def _known_key(known: KnownKey) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "description": known.doc}
    if known.texts:
        schema["enum"] = list(known.texts)
    if known.pattern is not None:
        schema["pattern"] = known.pattern
    return schema


def _missing_bounds(schema: Mapping[str, Any]) -> dict[str, int]:
    """Return the bounds of 64 bits on those sides on which an integer has none of its own."""
    lowest = {} if "exclusiveMinimum" in schema else {"minimum": INT64_MIN}
    return lowest if "exclusiveMaximum" in schema else {**lowest, "maximum": INT64_MAX}


def _quantity_pattern(unit: Unit) -> str:
    return f"^{DECIMAL_PATTERN} ?({'|'.join(unit.suffixes)})$"
