"""`packed_configuration`: a configuration of a bundle that was resolved when packing, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.tables import APPLIES, SCOPES, BundleTables, OptionRow, ProfileRow
from etconfig.device.deciding.configurations import (
    PackedBackend,
    PackedConfiguration,
    PackedMethod,
    PackedOption,
    PlainValue,
)
from etconfig.device.deciding.decision import BundleDecision, DecidedOption, OptionFailure, SlotDecision
from etconfig.device.deciding.evaluation import stored_value


def packed_configuration(tables: BundleTables, profile: ProfileRow) -> PackedConfiguration:
    """Return the arguments of a profile that was resolved when packing.

    Method instances without a value for every option, which only a damaged bundle has, are left out.
    """
    rows = {
        tables.texts[backend.id]: tables.options[
            backend.first_option : backend.first_option + backend.option_count
        ]
        for backend in tables.backends
    }
    slots = BundleDecision(tables, profile, {}).complete
    methods = tuple(_method(tables, slot, rows) for slot in slots)
    return PackedConfiguration(tables.texts[profile.name], tables.texts[profile.fingerprint], methods)


def _method(
    tables: BundleTables, slot: SlotDecision, rows: Mapping[str, Sequence[OptionRow]]
) -> PackedMethod:
    backends = tuple(
        PackedBackend(backend, tuple(_options(tables, rows[backend], options)))
        for backend, options in slot.backends.items()
    )
    return PackedMethod(slot.method, slot.instance, backends)


def _options(
    tables: BundleTables,
    rows: Sequence[OptionRow],
    decided: Mapping[str, DecidedOption | OptionFailure],
) -> Iterator[PackedOption]:
    for row in rows:
        option = decided[tables.texts[row.name]]
        assert isinstance(option, DecidedOption)
        yield PackedOption(
            name=tables.texts[row.name],
            value=_frozen(option.value),
            key=None if row.key == NONE else tables.texts[row.key],
            sent=_frozen(_sent(tables, row, option.value)),
            scope=SCOPES[row.scope],
            applies=APPLIES[row.applies],
            is_set=option.is_set,
            origin=option.origin,
        )


def _sent(tables: BundleTables, row: OptionRow, value: object) -> object:
    """Return a value as it is sent: a choice by its wire value, an array as one text."""
    for choice in tables.choices[row.first_choice : row.first_choice + row.choice_count]:
        known = stored_value(tables, choice.value)
        if type(known) is type(value) and known == value:
            return stored_value(tables, choice.sent)
    if row.separator != NONE and value is not None:  # an integer that has one is sent as text
        return tables.texts[row.separator].join(map(str, value if isinstance(value, list) else (value,)))
    return value


def _frozen(value: object) -> PlainValue:
    """Replace lists in plain data by tuples, which cannot change."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return cast("PlainValue", value)
