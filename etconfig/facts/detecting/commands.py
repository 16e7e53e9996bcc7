"""Run a command of the operating system within bounds of time and output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

COMMAND_LIMIT_S = 1.0
"""The time limit of one command, in seconds; a detector has twice as much."""

MAX_OUTPUT_BYTES = 1 << 20


def run_command(
    command: Sequence[str],
    *,
    limit_s: float = COMMAND_LIMIT_S,
    max_bytes: int = MAX_OUTPUT_BYTES,
    with_errors: bool = False,
) -> bytes | None:
    """Return the output of a command, or None if it cannot be started, takes too long or prints too much.

    The output counts even if the command fails: `sysctl` prints what it knows and fails for the rest. A
    command that exceeds a limit is killed, with the processes that it started. With `with_errors`, what it
    prints to standard error counts too.
    """
    try:
        process = subprocess.Popen(  # noqa: S603  # the commands are constants, and no shell reads them
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if with_errors else subprocess.DEVNULL,
            # the children of a hanging command keep the pipe open; a group of its own can be killed whole
            start_new_session=os.name == "posix",
        )
    except OSError:
        return None
    overran = threading.Event()

    def stop() -> None:
        overran.set()
        _kill(process)

    timer = threading.Timer(limit_s, stop)
    timer.daemon = True
    timer.start()
    with process:
        try:
            assert process.stdout is not None  # requested above
            output = process.stdout.read(max_bytes + 1)
            if len(output) > max_bytes:
                stop()
            process.wait()
        finally:
            timer.cancel()
    return None if overran.is_set() else output


def _kill(process: subprocess.Popen[bytes]) -> None:
    # not poll(): as long as nobody waits for a dead process, its number is not reused
    if process.returncode is not None:
        return
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError):  # it ended in the meantime
        os.killpg(process.pid, signal.SIGKILL)
