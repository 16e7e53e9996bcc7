"""The catalog of the kit's checks, from the modules of all topics."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from etconfig.conformance.checks import (
    answers,
    arguments,
    contract,
    discovery,
    facts,
    imports,
    init_arguments,
    lifecycle,
    missing_resources,
    no_globals,
    option_effects,
    option_evidence,
    options,
    options_apart,
    payload,
    resources,
    shapes,
    side_by_side,
    threads,
)
from etconfig.conformance.checks.check import Check

TOPICS = (
    discovery,
    imports,
    missing_resources,
    facts,
    contract,
    options,
    option_effects,
    answers,
    lifecycle,
    resources,
    arguments,
    shapes,
    option_evidence,
    side_by_side,
    threads,
    options_apart,
    no_globals,
    payload,
    init_arguments,
)
"""The modules, in the order that the report has within each level."""


def all_checks() -> tuple[Check, ...]:
    """Return every check, level by level, each after those that it rests on."""
    checks = sorted((check for module in TOPICS for check in module.CHECKS), key=lambda check: check.level)
    known = {check.id: check for check in checks}
    placed: dict[str, Check] = {}
    for each in checks:
        _place(each, known, placed)
    return tuple(placed.values())


def _place(check: Check, known: Mapping[str, Check], placed: dict[str, Check]) -> None:
    """Append the checks that a check rests on, then the check, unless they are there already."""
    for base in check.rests_on:
        _place(known[base], known, placed)
    placed.setdefault(check.id, check)


def with_bases(ids: Collection[str], checks: Sequence[Check]) -> tuple[Check, ...]:
    """Return those of `checks` with these ids, and everything that they rest on, in the same order."""
    wanted = set(ids)
    for each in reversed(checks):
        if each.id in wanted:
            wanted.update(each.rests_on)
    return tuple(each for each in checks if each.id in wanted)
