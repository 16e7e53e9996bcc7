"""Handles: initialised, used, destroyed; once each, and nothing is left behind."""

from __future__ import annotations

from etconfig.conformance.check import CheckFailedError, check
from etconfig.conformance.subject import Subject


@check("reinit", level=1, prevents="state that survives from one load to the next")
def reinit(subject: Subject) -> None:
    """The same program can be loaded again after it was closed, and answers the same."""
    case = subject.simplest
    for attempt in ("first", "second", "third"):
        with subject.load(case) as method:
            try:
                subject.check_runs(method, case)
            except CheckFailedError as error:
                raise CheckFailedError(f"at the {attempt} load, {error}") from None


CHECKS = (reinit,)
"""The checks of this module, in the order of the report."""
