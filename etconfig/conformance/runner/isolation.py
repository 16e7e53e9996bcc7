"""Isolated checks: each runs in its own process, so that a crash, a hang or a leak ends only that process."""

from __future__ import annotations

import sys
import time

from etconfig.conformance.checks.check import Check
from etconfig.conformance.kit.outcome import Outcome
from etconfig.conformance.kit.result import Result
from etconfig.conformance.process.child_process import ask_process
from etconfig.conformance.process.kept_worker import KeptWorker
from etconfig.conformance.subject.subject import Subject

MEMORY_LIMIT_BYTES = 8 * 2**30
"""The address space of an isolated check, if the system can limit it (Linux)."""

WORKER = (sys.executable, "-m", "etconfig.conformance.runner.worker")
"""The command that starts the process."""


def run_isolated(check: Check, subject: Subject, worker: KeptWorker | None = None) -> Result:
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
