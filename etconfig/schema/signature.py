"""The signature of a backend's schema: everything that decides about a configuration, as plain data."""

from __future__ import annotations

from typing import Any

from etconfig.base.plain_data import jsonable
from etconfig.schema.declaration import MISSING, OptionInfo, Wire
from etconfig.schema.option_type import OptionType
from etconfig.schema.spec import BackendSpec


def schema_signature(spec: BackendSpec) -> dict[str, Any]:
    """Return what counts of a schema, by option, then by field.

    Descriptions, versions and notes on deprecation do not count, nor does the order of options, of bounds
    and of choices. The order of advice does. What Python code decides, in validators and in functions that
    recommend values, is not part of it.
    """
    options = {name: _option(info) for name, info in sorted(spec.options.option_infos().items())}
    specs = {key: info.encoding.value for key, info in sorted(spec.compile_specs.items())}
    rank = None
    if spec.from_program is not None:
        rank = f"{'above' if spec.program_beats_recommendation else 'below'} recommendation"
    advice = [{"option": each.option, "expr": each.expr, "when": each.when} for each in spec.advice]
    found = {
        "options": options,
        "compile_specs": specs or None,
        "from_program": rank,
        "advice": advice or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _option(info: OptionInfo) -> dict[str, Any]:
    fields = {
        **_type(info.type),
        "unit": None if info.unit is None else info.unit.value,
        "from_fact": info.from_fact,
        "applies": info.applies.value,
        "scope": info.scope.value,
        "renamed_from": sorted(info.renamed_from),
        "wire": _wire(info.wire),
    }
    kept = {name: value for name, value in fields.items() if value not in (None, [])}
    # None is a default like any other
    return kept if info.default is MISSING else {**kept, "default": jsonable(info.default)}


def _type(wanted: OptionType) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "type": wanted.kind.value,
        "none": "allowed" if wanted.is_optional else None,
        "bounds": sorted(wanted.constraint_texts),
        "choices": sorted(wanted.choices, key=str),
        "items": _type(wanted.item) if wanted.item else None,
        "discriminator": wanted.discriminator,
        "tables": {name: _table(table) for name, table in sorted(wanted.tables_by_name.items())},
        "keys": {key: known.expected for key, known in sorted((wanted.known_keys or {}).items())},
    }
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def _table(table: Any) -> dict[str, Any]:
    """Return what counts of a table of options, by option."""
    return {
        name: {
            **_type(info.type),
            **({} if info.unit is None else {"unit": info.unit.value}),
            **({} if info.default is MISSING else {"default": jsonable(info.default)}),
        }
        for name, info in sorted(table.option_infos().items())
    }


def _wire(wire: Wire) -> dict[str, Any] | str:
    if wire.key is None:
        return "cannot be carried"
    parts = {
        "key": wire.key,
        "values": wire.values and dict(wire.values),
        "separator": wire.separator,
        "asText": wire.as_text or None,
    }
    return {name: value for name, value in parts.items() if value is not None}
