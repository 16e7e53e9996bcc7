"""Child processes: each reads a request from stdin, answers in a file, and is killed if it takes too long."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etconfig.base.records import record
from etconfig.conformance.kit.kit_settings import Settings, effective_search_path

_LAST_LINES = 5
_STACK_LINES = 8
_ADDRESS = re.compile(r"(?<=hread) 0x[0-9a-f]+")
"""The numbers that faulthandler gives to threads; they differ in each run and mean nothing."""
_STACKS = ("Fatal Python error: ", "Timeout (")
"""The first words of faulthandler's output."""


@record(frozen=True, kw_only=True)
class Ended:
    """The end of a child process.

    Attributes:
        answer: Its answer, or None if it ended before it gave one.
        problem: What was wrong with its end, or None.
        is_late: True if it did not end in time.
    """

    answer: Any = None
    problem: str | None = None
    is_late: bool = False


def ask_process(
    command: Sequence[str], request: dict[str, Any], settings: Settings, *, timeout_seconds: float
) -> Ended:
    """Start a process with the search path of the settings, send it a request, and wait for its answer.

    Args:
        command: Program and arguments. The process writes JSON into the file that `answer` in the request
            names.
        request: Sent to its stdin as JSON; `answer` is added.
        settings: The search path for distributions.
        timeout_seconds: When to kill the process. Its own children are killed when it has ended, in
            whatever way; temporary files of both are removed.
    """
    with tempfile.TemporaryDirectory(prefix="etconfig-conformance-", ignore_cleanup_errors=True) as directory:
        # The answer is a file of its own, since the backend may print to stdout and stderr.
        answer, said = Path(directory, "answer.json"), Path(directory, "said.txt")
        with said.open("wb") as output:  # not a pipe: its children might keep that open forever
            process = subprocess.Popen(  # noqa: S603  # the kit's own modules, in this Python
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                env=child_environment(settings, directory),
                start_new_session=True,  # makes it the leader of a process group, which `_end` kills
            )
        try:
            process.communicate(json.dumps({**request, "answer": str(answer)}), timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            return Ended(problem=f"it did not end within {timeout_seconds:g} s", is_late=True)
        finally:
            _end(process)
        # There may be both an answer and a bad end: a process can crash after its work, while it exits.
        answered = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else None
        if process.returncode == 0 and answered is not None:
            return Ended(answer=answered)
        problem = describe_end(process.returncode, said.read_text("utf-8", "replace"))
        return Ended(answer=answered, problem=problem)


def child_environment(settings: Settings, directory: str) -> dict[str, str]:
    """Return this environment with the search path of the settings, and temporary files in `directory`."""
    path = os.pathsep.join(effective_search_path(settings))
    return {**os.environ, "PYTHONPATH": path, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), directory)}


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the process if it still runs, and its children, if the system has process groups."""
    if hasattr(os, "killpg"):
        # macOS raises PermissionError for a group of which only zombies are left
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def describe_end(code: int, output: str) -> str:
    """Return how a process ended, from its exit status (negative for a signal), and its last output."""
    try:
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    except ValueError:
        how = f"signal {-code}"
    lines = [_ADDRESS.sub("", line.strip()) for line in output.splitlines() if line.strip()]
    said = " | ".join(_last_words(lines))
    return f"its process ended with {how}" + (f"; its last output: {said}" if said else "")


def _last_words(lines: list[str]) -> list[str]:
    """Return the last lines of a process, or the innermost calls of the stack that faulthandler wrote."""
    for index, line in enumerate(lines):
        if line.startswith(_STACKS):
            return lines[max(0, index - 1) : index + _STACK_LINES]
    return lines[-_LAST_LINES:]
