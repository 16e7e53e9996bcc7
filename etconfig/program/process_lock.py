"""`ProcessLock`: a lock that is open in a forked process."""

from __future__ import annotations

import os
import threading


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
