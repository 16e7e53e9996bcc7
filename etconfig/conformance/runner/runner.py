"""The runner: it runs the checks on a backend, and makes a report of the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from etconfig.app.executors import NUMPY, find_executor
from etconfig.conformance.checks.catalog import all_checks, with_bases
from etconfig.conformance.checks.check import Check
from etconfig.conformance.kit.levels import is_newer
from etconfig.conformance.kit.outcome import CheckFailedError, NotApplicableError, NotDelegatedError, Outcome
from etconfig.conformance.kit.result import Result
from etconfig.conformance.kit.settings import Settings
from etconfig.conformance.process.kept_worker import KeptWorker
from etconfig.conformance.runner.dependence import UnknownCheckError, not_judged, root_cause
from etconfig.conformance.runner.isolation import run_isolated
from etconfig.conformance.runner.report import Report, make_report
from etconfig.conformance.subject.subject import Subject
from etconfig.diagnostics import did_you_mean
from etconfig.errors import DelegateError, PluginCallError, PluginLoadError
from etconfig.plugin.culprit import located_cause
from etconfig.plugin.loader import error_place

Progress = Callable[[Check, Result], None]

SUSPECT_SECONDS = 20.0
"""The time limit of a check after another one crashed or timed out."""


def run_conformance(
    settings: Settings, xfails: Mapping[str, str] | None = None, *, progress: Progress | None = None
) -> Report:
    """Run every check up to the level of the settings, or those that the settings name.

    A check is not run if one that it rests on failed. After a check that crashed or timed out, all others
    run in their own processes.

    Args:
        settings: The backend to check, and how.
        xfails: The ids of the checks that are expected to fail, with the reasons.
        progress: Called with each result as soon as it is there.

    Raises:
        UnknownPluginError, DuplicatePluginError: no plugin declares the backend or the executor, or
            several do.
        UnknownCheckError: the settings name a check that does not exist.
    """
    checks = chosen_checks(settings)
    subject = Subject(settings)
    subject.entry  # noqa: B018  # nothing to check without it
    if settings.executor != NUMPY:
        find_executor(subject.installation, settings.executor)
    results: dict[str, Result] = {}
    with KeptWorker() as worker:
        worker.start()  # needed soon, unless the first check fails
        for each in checks:
            is_suspect = any(result.outcome.is_loss for result in results.values())
            check = _guarded(each) if is_suspect else each
            result = results[each.id] = run_after(check, subject, xfails or {}, results, worker)
            if progress is not None:
                progress(each, result)
    return make_report(subject, tuple(results.values()))


def chosen_checks(settings: Settings) -> tuple[Check, ...]:
    """Return the checks to run: those that the settings name with their bases, or all up to the level.

    Raises:
        UnknownCheckError: the settings name a check that does not exist.
    """
    checks = all_checks()
    known = [check.id for check in checks]
    for each in settings.checks:
        if each not in known:
            raise UnknownCheckError(
                f"there is no check {each!r}; "
                + (did_you_mean(each, known) or "`etconfig conformance --list` shows all checks")
            )
    if settings.checks:
        return with_bases(settings.checks, checks)
    return tuple(check for check in checks if check.level <= settings.level)


def run_after(
    check: Check,
    subject: Subject,
    xfails: Mapping[str, str],
    results: Mapping[str, Result],
    worker: KeptWorker | None = None,
) -> Result:
    """Run one check, unless one of the `results` is a failure that it rests on."""
    root = root_cause(check, results, subject.settings.kit)
    if root is not None:
        return not_judged(check, root, subject.settings.kit)
    return run_check(check, subject, xfails, worker)


def _guarded(check: Check) -> Check:
    """Return the check as an isolated one: a backend that ended one process might end this one too."""
    return replace(check, is_isolated=True, timeout_seconds=min(check.timeout_seconds, SUSPECT_SECONDS))


def run_check(
    check: Check, subject: Subject, xfails: Mapping[str, str], worker: KeptWorker | None = None
) -> Result:
    """Run one check, in its own process if it is isolated."""
    ended = run_isolated(check, subject, worker) if check.is_isolated else run_here(check, subject)
    result = judge(ended, xfails.get(check.id))
    return replace(result, is_advisory=is_newer(check.since, subject.settings.kit))


def run_here(check: Check, subject: Subject) -> Result:
    """Run one check in this process, even if it is isolated. Ctrl-C interrupts it."""
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
    except SystemExit as error:  # otherwise the backend would end the kit, with any exit status
        return Outcome.CRASHED, f"it raised SystemExit: {error.code}; raise another error instead"
    except PluginLoadError as error:  # the reader is the author
        return Outcome.FAILED, f"{located_cause(error)}; {error.author_help}"
    except PluginCallError as error:
        return Outcome.FAILED, f"{error.message}; correct {error.call}, and return what the options allow"
    except DelegateError as error:
        place = error_place(subject.entry, error.__cause__)
        return Outcome.FAILED, f"{place}{type(error).__name__}: {error}"
    except Exception as error:
        return Outcome.FAILED, f"{type(error).__name__}: {error}"
    return Outcome.PASSED, None


def judge(result: Result, reason: str | None) -> Result:
    """Return the result with expected failures taken into account; `reason` is None if none was expected."""
    if reason is None:
        return result
    if result.outcome is Outcome.PASSED:
        message = f"it passed, but is expected to fail ({reason}); remove its line from the expected failures"
        return replace(result, outcome=Outcome.XPASSED, message=message, reason=reason)
    if result.outcome.is_good:
        message = f"it is {result.outcome.value}, but is expected to fail ({reason}); remove its line"
        return replace(result, outcome=Outcome.XPASSED, message=message, reason=reason)
    return replace(result, outcome=Outcome.XFAILED, reason=reason)
