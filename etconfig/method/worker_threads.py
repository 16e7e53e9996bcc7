"""`Workers`: the threads of one Method, for backends that split their work."""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from etconfig.backend import StopSignal, never_stop
from etconfig.base.interrupts import is_of_signal_handler

MAX_WORKERS = 256
"""The most threads that one Method starts; each starts when it is first needed."""


class Workers:
    """Threads that belong to one Method.

    Attributes:
        should_stop: Returns True if the call under way must stop.

    Methods share no pool, so a busy instance cannot take the threads that the options of another
    one promise it, and closing a Method ends its threads.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  # the owner of the pool's threads
        self._is_busy = False
        self.should_stop: Callable[[], bool] = never_stop

    def parallel_for(self, count: int, body: Callable[[int], None], max_workers: int) -> None:
        """Run `body(i)` for every i in range(count), at most `max_workers` at a time.

        Returns when all are done. Every index runs, even if another one fails; then the
        exception of the lowest failed index is raised, so the outcome does not depend on
        timing. The calling thread works, too. A nested call from within `body` runs in its own
        thread alone: all workers may be waiting for it already. Once `should_stop` returns True,
        no further index begins.

        Raises:
            ValueError: `max_workers` is less than 1.
            StopSignal: indices were left out because the call must stop.
        """
        if max_workers < 1:
            raise ValueError(f"max_workers must be at least 1, not {max_workers}")
        loop = _Loop(count, body, self.should_stop)
        helper_count = min(count, max_workers, MAX_WORKERS) - 1
        if helper_count < 1 or self._is_busy:
            loop.work()
        else:
            self._work_together(loop, helper_count)
        loop.raise_first_error()

    def close(self) -> None:
        """End the threads and wait for them."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _work_together(self, loop: _Loop, helper_count: int) -> None:
        pool = self._pool_of_this_process()
        self._is_busy = True
        helpers: list[Future[None]] = []
        try:
            for _ in range(helper_count):
                # numpy 2 keeps errstate in the context: without a copy, helpers would warn.
                helpers.append(pool.submit(contextvars.copy_context().run, loop.work))
            loop.work()
        except BaseException:  # Ctrl-C, or no further thread can be started
            loop.stop()
            self._pool = None  # abandoned: it may have been interrupted while it held one of its locks
            pool.shutdown(wait=False)
            raise
        finally:
            _wait_for_all(helpers)
            self._is_busy = False

    def _pool_of_this_process(self) -> ThreadPoolExecutor:
        """Return the pool; a forked process has none of its parent's threads, so it makes its own."""
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(MAX_WORKERS, thread_name_prefix=self._name)
            self._process = os.getpid()
        return self._pool


def _wait_for_all(helpers: list[Future[None]]) -> None:
    """Wait until no helper is at work, despite interrupts: helpers write to the memory of the Method."""
    try:
        wait(helpers)
    except BaseException:
        _wait_for_all(helpers)
        raise


class _Loop:
    """One `parallel_for`: any number of threads draw indices until none are left."""

    def __init__(self, count: int, body: Callable[[int], None], should_stop: Callable[[], bool]) -> None:
        self._count = count
        self._body = body
        self._should_stop = should_stop
        self._is_cut_short = False
        self._indices = itertools.count()
        self._lock = threading.Lock()
        self._errors: dict[int, Exception] = {}

    def work(self) -> None:
        while True:
            with self._lock:
                index = next(self._indices)
            if index >= self._count:
                return
            if self._should_stop():
                self._is_cut_short = True
                self.stop()
                return
            try:
                self._body(index)
            except Exception as error:  # raised again by raise_first_error
                if is_of_signal_handler(error):
                    raise
                self._errors[index] = error

    def stop(self) -> None:
        """End the loop: later draws find no index."""
        self._count = 0

    def raise_first_error(self) -> None:
        try:
            if self._is_cut_short:
                raise StopSignal
            if self._errors:
                raise self._errors[min(self._errors)]
        finally:
            # their tracebacks refer to this object, a cycle that would keep the whole Method alive
            self._errors.clear()
