"""`ForkingWorker`: a process that has imported the kit, and forks a child for each isolated check."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.process.child_process import Ended, child_environment, describe_end

WORKER = (sys.executable, "-m", "etconfig.conformance.runner.forking")
"""The command that starts the worker."""

START_SECONDS = 60.0
"""How long the worker may take to import the kit."""

_REAP_SECONDS = 5.0
"""How long the worker may take to report the end of a child that was killed."""

CAN_FORK = sys.platform == "linux"
"""True where the kit forks; elsewhere, each isolated check starts a process of its own."""


class ForkingWorker:
    """Runs requests in forked children of one process, which starts with the first request.

    A child begins with the modules of the kit, numpy and etconfig, but with nothing of the vendor's, so it
    is as isolated as a new process. Its end affects neither the worker nor later children.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lines = b""
        self._is_cut = False

    def start(self) -> None:
        """Start the worker, which imports the kit while this process goes on."""
        if CAN_FORK and self._process is None:
            self._process = subprocess.Popen(  # noqa: S603  # the kit's own modules, in this Python
                WORKER,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # so that Ctrl-C ends this process first, which ends the worker
            )

    def ask(self, request: dict[str, Any], settings: Settings, *, timeout_seconds: float) -> Ended | None:
        """Run a request in a new child, as `ask_process` does in a new process.

        Returns:
            The end of the child; None if there is no worker here, so that a new process must do.
        """
        if not CAN_FORK:
            return None
        with tempfile.TemporaryDirectory(prefix="etconfig-conformance-", ignore_cleanup_errors=True) as place:
            answer, said = Path(place, "answer.json"), Path(place, "said.txt")
            order = {
                "request": {**request, "answer": str(answer)},
                "environment": child_environment(settings, place),
                "directory": str(Path.cwd()),
                "said": str(said),
            }
            child = self._start(order)
            if child is None:
                self.close()
                return None
            end = self._read(timeout_seconds)
            _kill_group(child)
            if end is None:
                if self._is_cut or self._read(_REAP_SECONDS) is None:
                    was_cut = self._is_cut
                    self.close()
                    if was_cut:
                        return Ended(problem="it ended the process that had started it")
                return Ended(problem=f"it did not end within {timeout_seconds:g} s", is_late=True)
            answered = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else None
            if end["code"] == 0 and answered is not None:
                return Ended(answer=answered)
            output = said.read_text("utf-8", "replace") if said.exists() else ""
            return Ended(answer=answered, problem=describe_end(end["code"], output))

    def close(self) -> None:
        """End the worker, if it runs."""
        process, self._process, self._lines, self._is_cut = self._process, None, b"", False
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            process.wait()

    def __enter__(self) -> ForkingWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self, order: dict[str, Any]) -> int | None:
        """Send an order, and return the id of the child; None if the worker does not answer."""
        self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        orders: IO[bytes] = self._process.stdin
        try:
            orders.write(json.dumps(order).encode() + b"\n")
            orders.flush()
        except OSError:
            return None
        started = self._read(START_SECONDS)
        return None if started is None else started.get("child")

    def _read(self, timeout_seconds: float) -> dict[str, Any] | None:
        """Return the next message of the worker; None if there is none in time, or the worker has ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor, deadline = self._process.stdout.fileno(), time.monotonic() + timeout_seconds
        while b"\n" not in self._lines:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(descriptor, 65536) if ready else b""
            self._is_cut = bool(ready and not data)
            if not data:
                return None
            self._lines += data
        line, _, self._lines = self._lines.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message


def _kill_group(child: int) -> None:
    """Kill a child if it still runs, and the processes that it started."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)
