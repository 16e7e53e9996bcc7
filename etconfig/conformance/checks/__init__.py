"""The checks of the kit, a module for each topic."""

from __future__ import annotations

from etconfig.conformance.check import Check
from etconfig.conformance.checks import lifecycle, side_by_side


def all_checks() -> tuple[Check, ...]:
    """Every check, level by level."""
    modules = (lifecycle, side_by_side)
    checks = (check for module in modules for check in module.CHECKS)
    return tuple(sorted(checks, key=lambda check: check.level))
