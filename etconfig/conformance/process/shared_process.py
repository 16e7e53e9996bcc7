"""`SharedProcess`: the process of all checks that need none of their own, so that none can end the kit."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.process.child_process import Ended, child_environment, describe_end

SESSION = (sys.executable, "-m", "etconfig.conformance.runner.common_process")
"""The command that starts the process."""

_START_SECONDS = 60.0
"""How long the process may take to import the kit, beside the time of its first request."""


class SharedProcess:
    """Runs requests one after the other in one process, which imports the vendor's plugin once.

    It has no terminal, so Ctrl-C ends the kit and not a check.

    Args:
        settings: The search path for distributions.
    """

    def __init__(self, settings: Settings) -> None:
        self._directory = tempfile.TemporaryDirectory(
            prefix="etconfig-conformance-", ignore_cleanup_errors=True
        )
        self._said = Path(self._directory.name, "said.txt")
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._seconds = _START_SECONDS
        with self._said.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603  # the kit's own module, in this Python
                SESSION,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=child_environment(settings, self._directory.name),
                start_new_session=True,
            )
        assert self._process.stdout is not None
        reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        reader.start()

    def ask(self, request: dict[str, Any], *, timeout_seconds: float) -> Ended:
        """Run a request; its answer, or how the process ended or did not answer in time."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # the end of the process is found below
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        try:
            line = self._answers.get(timeout=timeout_seconds + self._seconds)
        except queue.Empty:
            self._end()
            return Ended(problem=f"it did not end within {timeout_seconds:g} s", is_late=True)
        self._seconds = 0.0
        if line.endswith(b"\n"):
            return Ended(answer=json.loads(line))
        code = self._process.wait()
        return Ended(problem=describe_end(code, self._said.read_text("utf-8", "replace")))

    def close(self) -> None:
        """End the process."""
        self._end()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._directory.cleanup()

    def __enter__(self) -> SharedProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end(self) -> None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def _read(self, answers: IO[bytes]) -> None:
        """Queue each line of the process, and an empty one for its end."""
        line = b"\n"
        while line.endswith(b"\n"):
            line = answers.readline()
            self._answers.put(line)
