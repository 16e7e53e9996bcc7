"""The threads, open files and memory of this process, as far as the system reports them."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from etconfig.conformance.kit.outcomes import CheckFailedError

_SETTLE_SECONDS = 1.0
"""How long threads that were asked to end may take."""


def threads() -> Mapping[int, str]:
    """Return the threads by id: all on Linux, elsewhere the threads that Python knows."""
    known = {each.native_id or 0: f"thread {each.name!r}" for each in threading.enumerate()}
    if sys.platform != "linux":
        return known
    return {
        int(task.name): known.get(int(task.name), f"native thread {task.name}")
        for task in Path("/proc/self/task").iterdir()
    }


def open_files() -> Mapping[int, str]:
    """Return the open files by descriptor; empty if the system does not list them."""
    directory = Path("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")
    if not directory.is_dir():
        return {}
    found = {}
    for link in directory.iterdir():
        with contextlib.suppress(OSError):  # the descriptor that listed the directory is closed by now
            os.fstat(int(link.name))
            found[int(link.name)] = f"file {link.readlink() if link.is_symlink() else link.name}"
    return found


def resident_bytes() -> int:
    """Return the memory that this process has in use. Linux only."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


class ProcessResources:
    """The threads and open files at one moment, to compare with later."""

    def __init__(self) -> None:
        self._before = _held()

    def check_unchanged(self, times: int, after: str, fix: str) -> None:
        """Check that an action that was repeated has left nothing behind each time.

        Fewer new threads or files than repetitions are accepted: the process may have needed them once.

        Args:
            times: How often the action was repeated.
            after: The action, for the message.
            fix: What to do, for the message.

        Raises:
            CheckFailedError: at least as many threads or files are new as there were repetitions.
        """
        gc.collect()  # handles in reference cycles may own threads and files
        deadline = time.monotonic() + _SETTLE_SECONDS
        while (left := self._left(times)) and time.monotonic() < deadline:
            time.sleep(0.01)
        if left:
            raise CheckFailedError(f"after {after}, {' and '.join(left)}; {fix}")

    def _left(self, times: int) -> list[str]:
        left = []
        for kind, now in _held().items():
            new = [name for key, name in now.items() if key not in self._before[kind]]
            if len(new) >= times:
                left.append(f"{len(new)} {kind} are left, such as {new[0]}")
        return left


_KINDS: Mapping[str, Callable[[], Mapping[int, str]]] = {"threads": threads, "open files": open_files}


def _held() -> dict[str, Mapping[int, str]]:
    return {kind: find() for kind, find in _KINDS.items()}
