"""Checks of global state: variables of modules and classes."""

from __future__ import annotations

import sys
from pathlib import Path

from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.process.vendor_state import VendorState, package_of
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.subject import Subject


@check("no-globals", level=2, rests_on=("answers",), prevents="state that all methods of a process share")
def no_globals(subject: Subject) -> None:
    """Loading and running a method does not change variables of the vendor's modules and classes.

    Changes at the first load are accepted, and the contents of functions, such as the cache of a
    `functools.lru_cache`, are not checked.
    """
    if subject.is_native:
        raise NotApplicableError(
            f"{subject.backend_id} is implemented in another runtime: its state is hidden"
        )
    *_, last = subject.cases()
    for case in (subject.simplest, last):
        with subject.load(case) as method:
            subject.check_runs(method, case)
    state = VendorState(package_of(subject.entry))
    with subject.load(last) as method:
        _require_unchanged(state, last, "loaded")
        subject.check_runs(method, last)
        _require_unchanged(state, last, "executed")
    _require_unchanged(state, last, "closed")


def _require_unchanged(state: VendorState, case: DelegatedCase, event: str) -> None:
    changed = state.changed()
    if changed:
        raise CheckFailedError(
            f"{_file_of(changed[0])}: {', '.join(changed)} changed when {case.name} was {event}; "
            "keep the state of a method in the handle that init returns"
        )


def _file_of(variable: str) -> str:
    """Return the file that defines a variable, by its dotted name."""
    module = next(name for name in sorted(sys.modules, reverse=True) if variable.startswith(f"{name}."))
    return Path(sys.modules[module].__file__ or module).name
