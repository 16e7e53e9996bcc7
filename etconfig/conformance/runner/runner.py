"""Run checks on a backend, and make a report of what came out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from etconfig.app.api import NUMPY, find_executor
from etconfig.conformance.checks.catalog import all_checks
from etconfig.conformance.checks.check import Check
from etconfig.conformance.kit.levels import is_newer
from etconfig.conformance.kit.outcome import CheckFailedError, NotApplicableError, NotDelegatedError, Outcome
from etconfig.conformance.kit.result import Result
from etconfig.conformance.kit.settings import Settings
from etconfig.conformance.runner.isolation import run_isolated
from etconfig.conformance.runner.report import Report, make_report
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import DelegateError
from etconfig.plugin.loader import error_place

Progress = Callable[[Check, Result], None]

SUSPECT_SECONDS = 20.0
"""How long a check may take after one that crashed or timed out."""


def run_conformance(
    settings: Settings, xfails: Mapping[str, str] | None = None, *, progress: Progress | None = None
) -> Report:
    """Run every check up to the level of the settings.

    After one that crashed or timed out, all others run in processes of their own.

    Args:
        settings: What is checked, and how.
        xfails: The checks that are expected to fail, with the reasons.
        progress: Is told each result at once.

    Raises:
        UnknownPluginError, DuplicatePluginError: no plugin declares the backend or the executor, or
            several do.
    """
    subject = Subject(settings)
    subject.entry  # noqa: B018  # nothing to check without it
    if settings.executor != NUMPY:
        find_executor(subject.installation, settings.executor)
    results: list[Result] = []
    for each in all_checks():
        if each.level > settings.level:
            continue
        is_suspect = any(result.outcome.is_loss for result in results)
        result = run_check(_guarded(each) if is_suspect else each, subject, xfails or {})
        results.append(result)
        if progress is not None:
            progress(each, result)
    return make_report(subject, results)


def _guarded(check: Check) -> Check:
    """The same check in a process of its own: a backend that cost one its process may cost this one too."""
    return replace(check, is_isolated=True, timeout_seconds=min(check.timeout_seconds, SUSPECT_SECONDS))


def run_check(check: Check, subject: Subject, xfails: Mapping[str, str]) -> Result:
    """Run one check, in a process of its own if it asks for that."""
    runner = run_isolated if check.is_isolated else run_here
    result = judge(runner(check, subject), xfails.get(check.id))
    return replace(result, is_advisory=is_newer(check.since, subject.settings.kit))


def run_here(check: Check, subject: Subject) -> Result:
    """Run one check in this process, whatever it asks for. Ctrl-C passes."""
    started = time.perf_counter()
    outcome, message = _outcome_of(check, subject)
    seconds = time.perf_counter() - started
    return Result(check_id=check.id, outcome=outcome, message=message, seconds=seconds)


def _outcome_of(check: Check, subject: Subject) -> tuple[Outcome, str | None]:
    try:
        missing = [name for name in check.requires if not subject.declares(name)]
        if missing:
            return Outcome.UNDECLARED, f"{subject.backend_id} does not declare {', '.join(missing)}"
        check.run(subject)
    except CheckFailedError as error:
        return Outcome.FAILED, str(error)
    except NotApplicableError as error:
        return Outcome.NOT_APPLICABLE, str(error)
    except NotDelegatedError as error:
        return Outcome.NOT_DELEGATED, str(error)
    except SystemExit as error:  # else the backend would end the kit, with whatever status it likes
        return Outcome.CRASHED, f"it asked Python to end: SystemExit: {error.code}; raise an error instead"
    except DelegateError as error:
        place = error_place(subject.entry, error.__cause__)
        return Outcome.FAILED, f"{place}{type(error).__name__}: {error}"
    except Exception as error:
        return Outcome.FAILED, f"{type(error).__name__}: {error}"
    return Outcome.PASSED, None


def judge(result: Result, reason: str | None) -> Result:
    """What a result means where the check was expected to fail for `reason`."""
    if reason is None:
        return result
    if result.outcome is Outcome.PASSED:
        message = f"it passed, but is expected to fail ({reason}): remove its line from the expected failures"
        return replace(result, outcome=Outcome.XPASSED, message=message, reason=reason)
    if result.outcome.is_good:
        message = f"it is {result.outcome.value}, but is expected to fail ({reason}): remove its line"
        return replace(result, outcome=Outcome.XPASSED, message=message, reason=reason)
    return replace(result, outcome=Outcome.XFAILED, reason=reason)
