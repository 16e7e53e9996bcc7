"""The catalog of the kit's checks, from the modules of all topics."""

from __future__ import annotations

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
    side_by_side,
    threads,
    options_apart,
    no_globals,
    payload,
    init_arguments,
)
"""The modules, in the order that the report has within each level."""


def all_checks() -> tuple[Check, ...]:
    """Return every check, level by level."""
    checks = (check for module in TOPICS for check in module.CHECKS)
    return tuple(sorted(checks, key=lambda check: check.level))
