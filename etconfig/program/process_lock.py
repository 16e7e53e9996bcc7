"""`ProcessLock`: a lock that a forked process finds open."""

from __future__ import annotations

import os
import threading


class ProcessLock:
    """A lock for each process. Whoever held it when a process forked does not exist in the child.

    Use it as `with lock.current():`, so that an interrupt cannot come between taking it and entering.
    """

    __slots__ = ("_lock", "_process")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()

    def current(self) -> threading.Lock:
        """The lock of this process."""
        if self._process != os.getpid():
            self._lock, self._process = threading.Lock(), os.getpid()
        return self._lock
