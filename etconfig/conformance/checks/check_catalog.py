"""The catalog of the kit's checks, from the modules of all topics."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import ModuleType

from etconfig.conformance.checks import (
    answers,
    declared_memory,
    execute_arguments,
    imports,
    init_arguments,
    lifecycle,
    metadata,
    missing_resources,
    no_globals,
    option_effects,
    option_evidence,
    option_schema,
    payload,
    payload_descriptions,
    plugin_contract,
    resources,
    shapes,
    side_by_side,
)
from etconfig.conformance.checks.check import Check

TOPICS = (
    metadata,
    imports,
    missing_resources,
    plugin_contract,
    option_schema,
    option_effects,
    answers,
    lifecycle,
    resources,
    execute_arguments,
    shapes,
    option_evidence,
    declared_memory,
    side_by_side,
    no_globals,
    payload,
    payload_descriptions,
    init_arguments,
)
"""The modules in the order of the report; in a module, checks have the order of their definitions."""


def all_checks() -> tuple[Check, ...]:
    """Return every check, level by level, each after the checks that it rests on."""
    checks = sorted(checks_of(*TOPICS), key=lambda check: check.level)
    known = {check.id: check for check in checks}
    placed: dict[str, Check] = {}
    for each in checks:
        _place(each, known, placed)
    return tuple(placed.values())


def checks_of(*modules: ModuleType) -> list[Check]:
    """Return the checks that these modules define, in the order of their definitions."""
    return [each for module in modules for each in vars(module).values() if isinstance(each, Check)]


def _place(check: Check, known: Mapping[str, Check], placed: dict[str, Check]) -> None:
    """Append the checks that a check rests on, then the check, unless they are there already."""
    for base in check.rests_on:
        _place(known[base], known, placed)
    placed.setdefault(check.id, check)


def with_bases(ids: Collection[str], checks: Sequence[Check]) -> tuple[Check, ...]:
    """Return the members of `checks` with these ids, and everything that they rest on, in the same order."""
    wanted = set(ids)
    for each in reversed(checks):
        if each.id in wanted:
            wanted.update(each.rests_on)
    return tuple(each for each in checks if each.id in wanted)
