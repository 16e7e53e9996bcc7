"""The process of an isolated check: it reads a request from stdin, and writes the result to a file."""

from __future__ import annotations

import faulthandler
import json
import sys
import threading
from pathlib import Path
from typing import Any

from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.runner.runner import run_here
from etconfig.conformance.subject.subject import Subject

EXIT_SECONDS = 5
"""How long the process may take to end after the check, whatever the backend left behind."""


def run_requested_check() -> None:
    """Run the check that the request on stdin names."""
    run_check_of(json.load(sys.stdin))


def run_check_of(request: dict[str, Any]) -> None:
    """Run the check that a request names, within its limits of memory and time, and write the answer."""
    faulthandler.enable()  # a crash prints the stack
    # the parent kills this process when its time is up; this is for the case that the parent is gone
    faulthandler.dump_traceback_later(request["timeout_seconds"] + EXIT_SECONDS, exit=True)
    _limit_memory(request["memory_limit_bytes"])
    (check,) = (each for each in all_checks() if each.id == request["check"])
    subject = Subject(Settings.from_jsonable(request["settings"]))
    result = run_here(check, subject, owns_process=True)
    # Written before the process exits, which destructors and threads of the backend may prevent.
    Path(request["answer"]).write_text(json.dumps(result.to_jsonable()), encoding="utf-8")
    sys.stderr.write(
        f"the check has ended, and its process must end within {EXIT_SECONDS} s{_threads_left()}\n"
    )
    faulthandler.dump_traceback_later(EXIT_SECONDS, exit=True)  # shows where each thread is


def _threads_left() -> str:
    """Return the names of the threads that keep the process from ending."""
    left = [each for each in threading.enumerate() if not each.daemon and each is not threading.main_thread()]
    names = sorted({each.name for each in left})
    return f", but threads still run: {', '.join(names)}" if names else ""


def _limit_memory(limit_bytes: int) -> None:
    # A runaway allocation then raises MemoryError here, instead of making the whole machine swap.
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


if __name__ == "__main__":
    run_requested_check()
