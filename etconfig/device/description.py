"""`describe_bundle`: the content of a bundle as plain data, for `etconfig inspect`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.tables import (
    APPLIES,
    FACT_TYPES,
    OPTION_KINDS,
    PROVIDERS,
    ROWS,
    SCOPES,
    VOLATILITIES,
    BackendRow,
    BundleTables,
    CandidateRow,
    CandidateSource,
    OptionRow,
    ProfileRow,
    SlotRow,
)
from etconfig.device.deciding.configuration_reader import packed_configuration
from etconfig.device.deciding.decision import hand_set_facts, hidden_facts
from etconfig.device.deciding.evaluation import stored_value
from etconfig.device.device_bundle import DeviceBundle
from etconfig.facts.registry import HIDDEN_VALUE


def describe_bundle(tables: BundleTables) -> dict[str, Any]:
    """Return the content of a bundle as plain data: the output of `etconfig inspect --json`."""
    bundle = DeviceBundle(tables)
    named = None if tables.named_profile == NONE else tables.texts[tables.profiles[tables.named_profile].name]
    return {
        "producer": tables.producer,
        "id": bundle.id,
        "fingerprint": bundle.fingerprint,
        "sources": bundle.sources,
        "revision": bundle.revision,
        "not_after": None if bundle.not_after is None else bundle.not_after.isoformat(),
        "least_reader": tables.least_reader,
        "named_profile": named,
        "require_match": tables.require_match,
        "facts": [_fact(tables, number) for number in range(len(tables.facts))],
        "project_facts": _facts_by_hand(tables, 0, tables.project_fact_count),
        "profiles": [_profile(tables, profile) for profile in tables.profiles],
        "backends": [_backend(tables, backend) for backend in tables.backends],
        "models": [_model(tables, number) for number in range(len(tables.models))],
        "sizes": _sizes(tables),
    }


def _text(tables: BundleTables, number: int) -> str | None:
    return None if number == NONE else tables.texts[number]


def _condition(tables: BundleTables, number: int) -> str | None:
    return None if number == NONE else tables.texts[tables.conditions[number].text]


def _fact(tables: BundleTables, number: int) -> dict[str, Any]:
    fact = tables.facts[number]
    return {
        "name": tables.texts[fact.name],
        "type": FACT_TYPES[fact.type].value,
        "unit": _text(tables, fact.unit),
        "volatility": VOLATILITIES[fact.volatility].value,
        "is_identifying": bool(fact.is_identifying),
    }


def _facts_by_hand(tables: BundleTables, first: int, length: int) -> dict[str, object]:
    found, hidden = hand_set_facts(tables, first, length), hidden_facts(tables)
    return {name: HIDDEN_VALUE if name in hidden else value for name, value in found.items()}


def _profile(tables: BundleTables, profile: ProfileRow) -> dict[str, Any]:
    bases = tables.items[profile.first_base : profile.first_base + profile.base_count]
    slots = tables.slots[profile.first_slot : profile.first_slot + profile.slot_count]
    return {
        "name": tables.texts[profile.name],
        "match": _condition(tables, profile.condition),
        "extends": [tables.texts[tables.profiles[base].name] for base in bases],
        "provider": PROVIDERS[profile.provider].name.lower(),
        "is_fallback": bool(profile.is_fallback),
        "facts": _facts_by_hand(tables, profile.first_fact, profile.fact_count),
        **_contents(tables, profile, slots),
    }


def _contents(tables: BundleTables, profile: ProfileRow, slots: Sequence[SlotRow]) -> dict[str, Any]:
    """Return the values that were resolved when packing, or the settings that a device decides."""
    if profile.fingerprint == NONE:
        return {"settings": [setting for slot in slots for setting in _settings(tables, slot)]}
    packed = packed_configuration(tables, profile)
    return {"fingerprint": packed.fingerprint, "arguments": packed.to_jsonable()}


def _settings(tables: BundleTables, slot: SlotRow) -> Iterator[dict[str, Any]]:
    for number in tables.items[slot.first : slot.first + slot.length]:
        backend = tables.backend_settings[number]
        for row in tables.option_settings[backend.first : backend.first + backend.length]:
            head = {
                "method": tables.texts[slot.method],
                "instance": _text(tables, slot.instance),
                "backend": tables.texts[tables.backends[backend.backend].id],
                "option": tables.texts[tables.options[row.option].name],
            }
            if row.program_value != NONE:
                value = stored_value(tables, row.program_value)
                origin = tables.texts[row.program_origin]
                yield {**head, "value": value, "when": None, "origin": origin}
            for candidate in tables.candidates[row.first : row.first + row.length]:
                yield {**head, **_candidate(tables, candidate)}


def _candidate(tables: BundleTables, candidate: CandidateRow) -> dict[str, Any]:
    if candidate.source == CandidateSource.UNSET:
        value: dict[str, Any] = {"unset": True}
    elif candidate.source == CandidateSource.EXPRESSION:
        value = {"expr": tables.texts[tables.expressions[candidate.value].text]}
    else:
        value = {"value": stored_value(tables, candidate.value)}
    when = _condition(tables, candidate.condition)
    return {**value, "when": when, "origin": tables.texts[candidate.origin]}


def _backend(tables: BundleTables, backend: BackendRow) -> dict[str, Any]:
    options = tables.options[backend.first_option : backend.first_option + backend.option_count]
    entries = tables.advice[backend.first_advice : backend.first_advice + backend.advice_count]
    return {
        "id": tables.texts[backend.id],
        "options": [_option(tables, option) for option in options],
        "recommendations": [
            {
                "option": tables.texts[tables.options[entry.option].name],
                "expr": tables.texts[tables.expressions[entry.expression].text],
                "when": _condition(tables, entry.condition),
            }
            for entry in entries
        ],
    }


def _option(tables: BundleTables, option: OptionRow) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": tables.texts[option.name],
        "type": OPTION_KINDS[option.kind].value,
        "unit": _text(tables, option.unit),
        "applies": APPLIES[option.applies].value,
        "scope": SCOPES[option.scope].value,
        "key": _text(tables, option.key),
    }
    if option.default_value != NONE:
        found["default"] = stored_value(tables, option.default_value)
    if option.from_fact != NONE:
        found["from_fact"] = tables.texts[tables.facts[option.from_fact].name]
    return found


def _model(tables: BundleTables, number: int) -> dict[str, Any]:
    model = tables.models[number]
    return {
        "name": tables.texts[model.name],
        "fallback": bool(model.fallback),
        "variants": [
            {
                "file": tables.texts[variant.file],
                "backend": _text(tables, variant.backend),
                "when": _condition(tables, variant.condition),
                "needs": [
                    tables.texts[need]
                    for need in tables.items[variant.first_need : variant.first_need + variant.need_count]
                ],
            }
            for variant in tables.variants[model.first : model.first + model.length]
        ],
    }


def _sizes(tables: BundleTables) -> dict[str, int]:
    """Return the bytes that the parts of the file take, without what lies between them."""
    parts = {name: len(getattr(tables, name)) * rows.layout.size_bytes for name, rows in ROWS.items()}
    texts = sum(len(text.encode()) + 9 for text in tables.texts)  # its offset, its length and a zero byte
    return {"texts": texts, "items": 4 * len(tables.items), **parts}
