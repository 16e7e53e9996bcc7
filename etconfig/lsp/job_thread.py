"""`Worker`: one thread that runs jobs when they are due, and `OpenDocument`, which they are about."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from pathlib import Path
from threading import Condition, Thread

from etconfig.base.records import record


@record(frozen=True, kw_only=True)
class OpenDocument:
    """A document that a client has open.

    Attributes:
        uri: Its URI.
        path: Its file, which need not exist.
        version: Its version, as the client counts.
        text: Its text.
    """

    uri: str
    path: Path
    version: int | None
    text: str


class Worker:
    """Runs jobs one after the other. The process may end while one runs."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._jobs: dict[Hashable, tuple[float, Callable[[], object]]] = {}
        Thread(target=self._run, name="etconfig-lsp", daemon=True).start()

    def put(self, key: Hashable, job: Callable[[], object], delay_s: float = 0) -> None:
        """Let a job run after a delay, in place of one with the same key that has not begun."""
        with self._changed:
            self._jobs.pop(key, None)
            self._jobs[key] = (time.monotonic() + delay_s, job)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            self._next()()

    def _next(self) -> Callable[[], object]:
        """Wait for the job that is due first, and take it."""
        with self._changed:
            while True:
                key = min(self._jobs, key=lambda each: self._jobs[each][0], default=None)
                left_s = None if key is None else self._jobs[key][0] - time.monotonic()
                if key is not None and left_s is not None and left_s <= 0:
                    return self._jobs.pop(key)[1]
                self._changed.wait(left_s)
