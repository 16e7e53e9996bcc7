"""The other end of `--on`: facts of a device, files that are sent to it, and its workers.

`python -m etconfig.measuring.agent` first says what the device is. Then each line, in both directions, is the
number of a channel and a text. Channel 0 takes files; each other one ends in its own worker, beginning with
the first line and ending with an empty one. All ends, and the files are removed, when the connection does.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from etconfig.analysis.machine import describe_machine
from etconfig.analysis.plain import plain_data
from etconfig.app.installation.installation import Installation
from etconfig.base.version import __version__
from etconfig.measuring.worker import END_S

GREETING = "etconfig_agent"
"""The key of the first line; what a login prints comes before it."""


def greeting(directory: str) -> dict[str, Any]:
    """Return what the device is, and where it keeps files."""
    installation = Installation()
    return {
        GREETING: __version__,
        "directory": directory,
        "facts": installation.detect_facts().to_json(),
        "machine": plain_data(describe_machine()),
        "packages": {each.distribution: each.version for each in installation.index.installed},
    }


class _Worker:
    """A process that measures; what it answers goes to its channel, and at the end its status."""

    def __init__(self, answer: Callable[[str], None]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "etconfig.measuring.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._answer = answer
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def tell(self, line: bytes) -> None:
        """Hand over a line; an empty one ends the process."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it has ended, which its status says
            if line.strip():
                self._process.stdin.write(line)
                self._process.stdin.flush()
            else:
                self._process.stdin.close()

    def end(self) -> None:
        """Wait until it has ended."""
        self.tell(b"")
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._thread.join(END_S)

    def _pass_on(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answer(line.decode().rstrip("\n"))
        self._answer(json.dumps({"ended": self._process.wait()}))


def serve_connection() -> None:
    """Serve the connection on stdin and stdout."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what plugins print is not an answer
    lock = threading.Lock()
    workers: dict[int, _Worker] = {}

    def say(channel: int, text: str) -> None:
        with lock, suppress(OSError):
            out.write(f"{channel} {text}\n")
            out.flush()

    with TemporaryDirectory(prefix="etconfig-") as directory:
        say(0, json.dumps(greeting(directory)))
        try:
            for line in sys.stdin.buffer:
                number, _, text = line.partition(b" ")
                channel = int(number)
                if not channel:
                    _keep(directory, **json.loads(text))
                    continue
                if channel not in workers:
                    workers[channel] = _Worker(lambda answer, channel=channel: say(channel, answer))  # type: ignore[misc]  # a default fixes it
                workers[channel].tell(text)
        finally:
            for each in workers.values():
                each.end()


def _keep(directory: str, folder: str, name: str, data: str) -> None:
    """Write a part of a file to the end of what is there."""
    target = Path(directory, Path(folder).name, Path(name).name)
    target.parent.mkdir(exist_ok=True)
    with target.open("ab") as file:
        file.write(base64.b64decode(data))


if __name__ == "__main__":
    serve_connection()
