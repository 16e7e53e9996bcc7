"""`ProcessLock`, which is open in a forked process, and a pause of the garbage collector."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ProcessLock:
    """A lock with a new, open state in each forked process.

    `fork` copies the lock but not the thread that took it, so in the child a plain lock that was taken
    at that moment would stay locked forever.

    Use it as `with lock.current():`, so that an interrupt cannot come between taking and entering it.
    """

    __slots__ = ("_lock", "_process")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()

    def current(self) -> threading.Lock:
        """Return the lock of this process."""
        # compared on each use: a hook of os.register_at_fork could never be removed again
        if self._process != os.getpid():
            self._lock, self._process = threading.Lock(), os.getpid()
        return self._lock


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause Python's cyclic garbage collector, in all threads.

    The objects of a plan live on and contain no garbage, but the collector would visit all of them
    several times: with 30,000 instructions that took twice the time of the work itself. With several
    threads, collection resumes when the first one leaves. It always resumes: only a thread that found
    the collector running stops it, and that thread starts it again.
    """
    if not gc.isenabled():
        yield
        return
    try:
        gc.disable()  # inside `try`, because Ctrl-C may come right after it
        yield
    finally:
        gc.enable()
