"""Checks that rest on others: their bases run first, and the failure of a base is the root cause."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.conformance.checks.check import Check
from etconfig.conformance.kit.outcomes import Outcome, Result, is_newer


class UnknownCheckError(ValueError):
    """A check was named that the kit does not have; the message suggests one."""


def root_cause(check: Check, results: Mapping[str, Result], kit: str) -> str | None:
    """Return the id of the failed check that makes running this one pointless, or None.

    An advisory failure is not the cause of a result that counts.

    Args:
        check: The check that would run next.
        results: The results so far, by check id.
        kit: The version of the kit that the vendor pins.
    """
    counts = not is_newer(check.since, kit)
    for each in check.rests_on:
        base = results.get(each)
        if base is not None and base.outcome.is_cause and not (counts and base.is_advisory):
            return base.rests_on or base.check_id
    return None


def not_judged(check: Check, root: str, kit: str) -> Result:
    """Return the result of a check that was not run because `root` failed."""
    return Result(
        check_id=check.id,
        outcome=Outcome.NOT_JUDGED,
        message=f"rests on {root}",
        is_advisory=is_newer(check.since, kit),
        rests_on=root,
    )
