"""Ask a process of its own: it reads a request from stdin, answers by a file, and is ended if it is late."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etconfig.conformance.settings import Settings, effective_search_path
from etconfig.records import record

_LAST_LINES = 5
_STACK_LINES = 8
_STACKS = ("Fatal Python error: ", "Timeout (")
"""How faulthandler begins."""


@record(frozen=True, kw_only=True)
class Ended:
    """How a process ended.

    Attributes:
        answer: What it answered, or None if it crashed or was ended.
        problem: Why there is no answer, in words; None when there is one.
        is_late: It did not end in time.
    """

    answer: Any = None
    problem: str | None = None
    is_late: bool = False


def ask_process(
    command: Sequence[str], request: dict[str, Any], settings: Settings, *, timeout_seconds: float
) -> Ended:
    """Start a process that finds what the settings name, hand it a request, and wait for its answer.

    Args:
        command: Program and arguments. The process writes JSON into the file that the request's
            `answer` names.
        request: What it reads from stdin, as JSON; `answer` is added.
        settings: Where distributions are installed.
        timeout_seconds: When the process and all that it started are killed.
    """
    with tempfile.TemporaryDirectory(prefix="etconfig-conformance-") as directory:
        answer = Path(directory) / "answer.json"
        process = subprocess.Popen(  # noqa: S603  # the kit's own modules, in this Python
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(effective_search_path(settings))},
            start_new_session=True,
        )
        try:
            text = json.dumps({**request, "answer": str(answer)})
            output, _ = process.communicate(text, timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            return Ended(problem=f"it did not end within {timeout_seconds:g} s", is_late=True)
        finally:
            if process.poll() is None:
                _end(process)
        if process.returncode == 0 and answer.exists():
            return Ended(answer=json.loads(answer.read_text(encoding="utf-8")))
        return Ended(problem=_describe_end(process.returncode, output))


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the process and all that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()


def _describe_end(code: int, output: str) -> str:
    try:
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    except ValueError:
        how = f"signal {-code}"
    said = " | ".join(_last_words([line.strip() for line in output.splitlines() if line.strip()]))
    return f"its process ended with {how}" + (f"; it said: {said}" if said else "")


def _last_words(lines: list[str]) -> list[str]:
    """The end of what a process said; of the stacks that faulthandler writes, the innermost calls."""
    for index, line in enumerate(lines):
        if line.startswith(_STACKS):
            return lines[max(0, index - 1) : index + _STACK_LINES]
    return lines[-_LAST_LINES:]
