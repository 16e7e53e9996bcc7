"""`Workers`: parallel_for on a Method's own threads."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import weakref
from contextvars import ContextVar

import pytest

from etconfig.method import worker_threads as workers_module
from etconfig.method.worker_threads import Workers

STATE = ContextVar("state", default="nobody's")


def test_every_index_runs_once() -> None:
    workers = Workers("test")
    for count, at_most in ((0, 4), (1, 4), (5, 1), (100, 4), (3, 50)):
        seen: list[int] = []
        workers.parallel_for(count, seen.append, at_most)
        assert sorted(seen) == list(range(count))
    workers.close()


def test_threads_start_when_first_needed_and_end_with_close() -> None:
    before = threading.active_count()
    workers = Workers("test")
    workers.parallel_for(10, lambda _: None, 1)
    assert threading.active_count() == before
    meeting = threading.Barrier(3)
    workers.parallel_for(3, lambda _: meeting.wait(30), 3)
    assert threading.active_count() == before + 2
    workers.close()
    workers.close()
    assert threading.active_count() == before


def test_at_most_max_workers_run_at_a_time() -> None:
    workers = Workers("test")
    lock = threading.Lock()
    running = peak = 0

    def body(_: int) -> None:
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        with lock:
            running -= 1

    workers.parallel_for(200, body, 3)
    workers.close()
    assert 1 <= peak <= 3


@pytest.mark.parametrize("at_most", [1, 3])
def test_the_first_failure_by_index_is_raised_after_all_have_run(at_most: int) -> None:
    workers = Workers("test")
    seen = []

    def body(index: int) -> None:
        seen.append(index)
        if index in (2, 5):
            raise KeyError(index)

    with pytest.raises(KeyError, match="2"):
        workers.parallel_for(8, body, at_most)
    assert sorted(seen) == list(range(8))
    workers.close()


@pytest.mark.parametrize("at_most", [1, 3])
def test_a_handled_failure_keeps_nothing_alive(at_most: int) -> None:
    class Memory:
        """The data that the body of a loop works on."""

    def fail_on(memory: Memory) -> None:
        def body(index: int) -> None:
            raise ValueError(f"{memory} at {index}")

        with contextlib.suppress(ValueError):
            workers.parallel_for(5, body, at_most)

    workers = Workers("test")
    memory = Memory()
    watched = weakref.ref(memory)
    gc.disable()  # it would hide a cycle, which must not exist
    try:
        fail_on(memory)
        workers.close()  # a thread drops its work a moment after the work is done
        del memory
        assert watched() is None
    finally:
        gc.enable()


def test_a_nested_call_runs_in_its_own_thread() -> None:
    workers = Workers("test")
    threads = []

    def inner(_: int) -> None:
        threads.append(threading.get_ident())

    def outer(_: int) -> None:
        here = threading.get_ident()
        before = len(threads)
        workers.parallel_for(4, inner, 4)
        assert threads.count(here) >= 4
        assert len(threads) >= before + 4

    workers.parallel_for(2, outer, 2)
    workers.close()
    assert len(threads) == 8


def test_workers_have_the_context_of_the_caller() -> None:
    workers = Workers("test")
    meeting = threading.Barrier(2)
    states = []

    def body(_: int) -> None:
        meeting.wait(30)
        states.append(STATE.get())

    token = STATE.set("the caller's")
    workers.parallel_for(2, body, 2)
    STATE.reset(token)
    workers.close()
    assert states == ["the caller's"] * 2


def test_zero_workers_are_refused() -> None:
    with pytest.raises(ValueError, match="max_workers must be at least 1, not 0"):
        Workers("test").parallel_for(1, lambda _: None, 0)


def test_an_interrupt_ends_the_loop_and_all_helpers() -> None:
    workers = Workers("test")
    meeting, leave = threading.Barrier(2), threading.Event()
    caller, seen = threading.get_ident(), []

    def body(index: int) -> None:
        meeting.wait(30)
        if threading.get_ident() == caller:
            leave.set()
            raise KeyboardInterrupt
        leave.wait(30)
        seen.append(index)

    with pytest.raises(KeyboardInterrupt):
        workers.parallel_for(100, body, 2)
    assert len(seen) == 1
    workers.parallel_for(3, seen.append, 2)
    workers.close()
    assert len(seen) == 4


def test_an_interrupt_while_waiting_still_waits_for_the_helpers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = []

    def interrupted(helpers: object) -> None:
        waits.append(helpers)
        if len(waits) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(workers_module, "wait", interrupted)
    workers = Workers("test")
    with pytest.raises(KeyboardInterrupt):
        workers.parallel_for(4, lambda _: None, 2)
    workers.close()
    assert len(waits) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_process_starts_its_own_threads() -> None:
    """The threads of its parent do not run there: work given to them would wait forever."""
    workers = Workers("test")
    workers.parallel_for(4, lambda _: None, 2)
    child = os.fork()
    if not child:
        signal.alarm(60)
        meeting = threading.Barrier(2)
        workers.parallel_for(2, lambda _: meeting.wait(30), 2)
        workers.close()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    workers.close()
