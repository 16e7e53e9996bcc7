"""Run a check in a process of its own: a crash, a hang or a hunger for memory ends that process alone."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from etconfig.conformance.check import Check, Outcome
from etconfig.conformance.result import Result
from etconfig.conformance.settings import effective_search_path
from etconfig.conformance.subject import Subject

MEMORY_LIMIT_BYTES = 8 * 2**30
"""The address space of an isolated check, where the system can bound it (Linux)."""

WORKER = (sys.executable, "-m", "etconfig.conformance.worker")
"""The command of the process."""

_LAST_LINES = 5


def run_isolated(check: Check, subject: Subject) -> Result:
    """Run one check in a new process; how that ends is the outcome if the check says none."""
    with tempfile.TemporaryDirectory(prefix="etconfig-conformance-") as directory:
        answer = Path(directory) / "result.json"
        request = {
            "check": check.id,
            "settings": subject.settings.to_json(),
            "answer": str(answer),
            "memory_limit_bytes": MEMORY_LIMIT_BYTES,
        }
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603  # our own module, in this Python
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(effective_search_path(subject.settings))},
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(json.dumps(request), timeout=check.timeout_seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            message = f"it did not end within {check.timeout_seconds:g} s"
            return _ended(check, Outcome.TIMED_OUT, message, started)
        finally:
            if process.poll() is None:
                _end(process)
        if answer.exists():
            result = Result.from_json(json.loads(answer.read_text(encoding="utf-8")))
            if process.returncode == 0:
                return result
        return _ended(check, Outcome.CRASHED, _describe_end(process.returncode, output), started)


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the process and all that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()


def _ended(check: Check, outcome: Outcome, message: str, started: float) -> Result:
    seconds = time.perf_counter() - started
    return Result(check_id=check.id, outcome=outcome, message=message, seconds=seconds)


def _describe_end(code: int, output: str) -> str:
    try:
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    except ValueError:
        how = f"signal {-code}"
    said = " | ".join(line for line in output.splitlines()[-_LAST_LINES:] if line.strip())
    return f"its process ended with {how}" + (f"; it said: {said}" if said else "")
