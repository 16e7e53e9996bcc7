"""The other end of `--on`: facts of a device, files that are sent to it, and its workers.

`python -m etconfig.measuring.agent` first says what the device is. Then each line, in both directions, is the
number of a channel and a text. Channel 0 takes files; each other one ends in its own worker, beginning with
the first line and ending with an empty one. All ends, and the files are removed, when the connection does.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from etconfig.analysis.machine import describe_machine
from etconfig.analysis.plain import plain_data
from etconfig.app.installation.installation import Installation
from etconfig.base.version import __version__
from etconfig.measuring.processes import LocalChannel
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


def _serve(lines: SimpleQueue[str], answer: Callable[[str], None]) -> None:
    """Pass lines on to a worker, and its answers back, until an empty line comes."""
    worker = LocalChannel(os.environ)
    while line := lines.get():
        answer(worker.ask(line))
    worker.close()


def serve_connection() -> None:
    """Serve the connection on stdin and stdout."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what plugins print is not an answer
    lock = threading.Lock()
    queues: dict[int, SimpleQueue[str]] = {}
    threads: list[threading.Thread] = []

    def say(channel: int, text: str) -> None:
        with lock, suppress(OSError):
            out.write(f"{channel} {text.rstrip()}\n")
            out.flush()

    with TemporaryDirectory(prefix="etconfig-") as directory:
        say(0, json.dumps(greeting(directory)))
        for line in sys.stdin:
            number, _, text = line.partition(" ")
            channel = int(number)
            if not channel:
                _keep(directory, **json.loads(text))
                continue
            if channel not in queues:
                queues[channel] = SimpleQueue()
                worker = (queues[channel], partial(say, channel))
                threads.append(threading.Thread(target=_serve, args=worker, daemon=True))
                threads[-1].start()
            queues[channel].put(text.strip())
        for each in queues.values():
            each.put("")
        for thread in threads:
            thread.join(END_S)  # a worker whose engine hangs ends itself


def _keep(directory: str, folder: str, name: str, data: str) -> None:
    """Write a part of a file to the end of what is there."""
    target = Path(directory, Path(folder).name, Path(name).name)
    target.parent.mkdir(exist_ok=True)
    with target.open("ab") as file:
        file.write(base64.b64decode(data))


if __name__ == "__main__":
    serve_connection()
