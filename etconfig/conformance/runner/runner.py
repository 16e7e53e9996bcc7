"""The runner: it runs the checks on a backend, and makes a report of the results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from etconfig.app.programs.executors import NUMPY, find_executor
from etconfig.conformance.checks.check import Check
from etconfig.conformance.checks.check_catalog import all_checks, with_bases
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.kit.outcomes import (
    CheckFailedError,
    NotApplicableError,
    NotDelegatedError,
    Outcome,
    Result,
    is_newer,
)
from etconfig.conformance.process.child_process import ask_process
from etconfig.conformance.process.forking_worker import ForkingWorker
from etconfig.conformance.process.shared_process import SharedProcess
from etconfig.conformance.runner.dependence import UnknownCheckError, not_judged, root_cause
from etconfig.conformance.runner.kit_report import Report, make_report
from etconfig.conformance.subject.subject import Subject
from etconfig.diagnostics import did_you_mean
from etconfig.diagnostics.error_text import error_message, error_text
from etconfig.errors import DelegateError, PluginCallError, PluginLoadError
from etconfig.plugin.culprit import located_cause
from etconfig.plugin.loader import error_place

MEMORY_LIMIT_BYTES = 8 * 2**30
"""The address space of an isolated check, if the system can limit it (Linux)."""

WORKER = (sys.executable, "-m", "etconfig.conformance.runner.isolated_process")
"""The command that starts the process."""


def run_isolated(check: Check, subject: Subject, worker: ForkingWorker | None = None) -> Result:
    """Run one check in a process of its own; its bad end is the outcome unless the check failed by itself.

    Args:
        check: The check.
        subject: The backend.
        worker: Forks the process, if it can and the check allows it; otherwise a new one starts.
    """
    request = {
        "check": check.id,
        "settings": subject.settings.to_jsonable(),
        "memory_limit_bytes": MEMORY_LIMIT_BYTES,
        "timeout_seconds": check.timeout_seconds,
    }
    started = time.perf_counter()
    ended = None
    if worker is not None and not check.is_fresh:
        ended = worker.ask(request, subject.settings, timeout_seconds=check.timeout_seconds)
    if ended is None:
        ended = ask_process(WORKER, request, subject.settings, timeout_seconds=check.timeout_seconds)
    # A failed check explains itself better than the end of its process. A check that passed and then
    # crashed its process has not passed.
    result = None if ended.answer is None else Result.from_jsonable(ended.answer)
    if result is not None and (ended.problem is None or not result.outcome.is_good):
        return result
    return Result(
        check_id=check.id,
        outcome=Outcome.TIMED_OUT if ended.is_late else Outcome.CRASHED,
        message=ended.problem,
        seconds=time.perf_counter() - started,
    )


Progress = Callable[[Check, Result], None]

SUSPECT_SECONDS = 20.0
"""The time limit of a check after another one crashed or timed out."""


def run_conformance(
    settings: Settings, xfails: Mapping[str, str] | None = None, *, progress: Progress | None = None
) -> Report:
    """Run every check up to the level of the settings, or the checks that the settings name.

    A check is not run if one of its bases failed. No check runs in this process, which a backend could
    end. After a check that crashed or timed out, all others run in their own processes.

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
    with SharedProcess(settings) as shared, ForkingWorker() as worker:
        worker.start()  # needed soon, unless the first check fails
        for each in checks:
            is_suspect = any(result.outcome.is_loss for result in results.values())
            check = _guarded(each) if is_suspect else each
            result = results[each.id] = run_after(check, subject, xfails or {}, results, worker, shared)
            if progress is not None:
                progress(each, result)
        lost = any(each.outcome.is_loss for each in results.values())
        # a backend that ended the process of a check might end others, too
        findings = {} if lost else _findings(subject, shared)
    return make_report(subject, tuple(results.values()), findings)


def chosen_checks(settings: Settings) -> tuple[Check, ...]:
    """Return the checks to run: the checks that the settings name with their bases, or all up to the level.

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
    worker: ForkingWorker | None = None,
    shared: SharedProcess | None = None,
) -> Result:
    """Run one check, unless one of the `results` is a failure that it rests on."""
    root = root_cause(check, results, subject.settings.kit)
    if root is not None:
        return not_judged(check, root, subject.settings.kit)
    return run_check(check, subject, xfails, worker, shared)


def _guarded(check: Check) -> Check:
    """Return the check as an isolated one: a backend that ended one process might end this one too."""
    return replace(check, is_isolated=True, timeout_seconds=min(check.timeout_seconds, SUSPECT_SECONDS))


def run_check(
    check: Check,
    subject: Subject,
    xfails: Mapping[str, str],
    worker: ForkingWorker | None = None,
    shared: SharedProcess | None = None,
) -> Result:
    """Run one check: in its own process if it is isolated, else in the shared one, or here without one."""
    if check.is_isolated:
        ended = run_isolated(check, subject, worker)
    else:
        ended = (shared and _run_shared(check, subject, shared)) or run_here(check, subject)
    result = judge(ended, xfails.get(check.id))
    return replace(result, is_advisory=is_newer(check.since, subject.settings.kit))


def _run_shared(check: Check, subject: Subject, shared: SharedProcess) -> Result | None:
    """Run one check in the shared process; None if the process does not know it, as for tests' checks."""
    started = time.perf_counter()
    request = {"settings": subject.settings.to_jsonable(), "check": check.id}
    ended = shared.ask(request, timeout_seconds=check.timeout_seconds)
    if ended.problem is None:
        return None if ended.answer is None else Result.from_jsonable(ended.answer)
    return Result(
        check_id=check.id,
        outcome=Outcome.TIMED_OUT if ended.is_late else Outcome.CRASHED,
        message=ended.problem,
        seconds=time.perf_counter() - started,
    )


def _findings(subject: Subject, shared: SharedProcess) -> Mapping[str, Any]:
    request = {"settings": subject.settings.to_jsonable()}
    return shared.ask(request, timeout_seconds=SUSPECT_SECONDS).answer or {}


def run_here(check: Check, subject: Subject, *, owns_process: bool = False) -> Result:
    """Run one check in this process, even if it is isolated.

    Args:
        check: The check.
        subject: The backend.
        owns_process: True if Ctrl-C does not reach this process, so that KeyboardInterrupt is the backend's.
    """
    started = time.perf_counter()
    try:
        outcome, message = _outcome_of(check, subject)
    except KeyboardInterrupt as error:
        if not owns_process:
            raise
        outcome, message = _ending(error)
    seconds = time.perf_counter() - started
    return Result(check_id=check.id, outcome=outcome, message=message, seconds=seconds)


def _outcome_of(check: Check, subject: Subject) -> tuple[Outcome, str | None]:
    try:
        missing = [name for name in check.requires if not subject.declares(name)]
        if missing:
            return Outcome.UNDECLARED, f"{subject.backend_id} does not declare {', '.join(missing)}"
        check.run(subject)
    except Exception as error:
        return _OUTCOMES.get(type(error), Outcome.FAILED), _message_of(error, subject)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and GeneratorExit would end the kit, with any exit status
        return _ending(error)
    return Outcome.PASSED, None


_OUTCOMES = {NotApplicableError: Outcome.NOT_APPLICABLE, NotDelegatedError: Outcome.NOT_DELEGATED}
"""The outcomes that an error of a check stands for; others are failures."""


def _message_of(error: Exception, subject: Subject) -> str:
    if isinstance(error, (CheckFailedError, *_OUTCOMES)):
        return str(error)
    if isinstance(error, PluginLoadError):  # the reader is the author
        return f"{located_cause(error)}; {error.author_help}"
    if isinstance(error, PluginCallError):
        return f"{error.message}; correct {error.call}, and return what the options allow"
    place = error_place(subject.entry, error.__cause__) if isinstance(error, DelegateError) else ""
    return f"{place}{error_text(error)}"


def _ending(error: BaseException) -> tuple[Outcome, str]:
    message = error_message(error)
    said = f": {message}" if message else ""
    return Outcome.CRASHED, f"it raised {type(error).__name__}{said}; raise another error instead"


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
