"""Checks of memory, threads and files, and of how a process with the backend forks and ends."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from etconfig.backend import InitContext, Processed
from etconfig.conformance.checks.check import check
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, suggesting
from etconfig.conformance.process.process_resources import ProcessResources, resident_bytes
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.subject import Subject

_CHILD_SECONDS = 5
"""The time limit of a forked child."""

_CYCLES = 5
_MEMORY_CYCLES = 100
_GROWTH_BYTES = 2**19
"""The growth of memory that is accepted after `_MEMORY_CYCLES` loads, for noise of the allocator. The
reference backends do not grow at all, XNNPACK on ExecuTorch's runtime by up to 40 kB."""
_MEMORY_ROUNDS = 3
"""A leak grows in each round; the allocator takes a new arena for another thread once."""


@check(
    "exit-undestroyed", level=1, rests_on=("answers",), isolated=True, prevents="programs that hang at exit"
)
def exit_undestroyed(subject: Subject) -> None:
    """A process with open methods ends within 5 s, and without a crash."""
    case = subject.simplest
    method = subject.load(case)
    subject.check_runs(method, case)
    atexit.register(_hold, method)  # the parent process watches how this one ends


def _hold(method: object) -> None:
    """Keep a method open until the process ends."""


class _OwnPayload:
    """A payload in memory of its own, which can find out whether it is still referenced."""

    def __init__(self, data: memoryview) -> None:
        self._memory = bytearray(data) + b"\0"
        self.was_freed = False

    @property
    def data(self) -> memoryview:
        if self.was_freed:
            raise ValueError("the payload was freed")
        return memoryview(self._memory)[:-1].toreadonly()

    def free(self) -> None:
        self.was_freed = True

    def is_referred_to(self) -> bool:
        """Check whether a view of the memory still exists."""
        try:
            self._memory.pop()  # refused as long as a view exists
        except BufferError:
            return True
        return False

    def overwrite(self) -> None:
        """Overwrite the memory, so that a kept address leads to wrong answers."""
        self._memory[:] = b"\xa5" * len(self._memory)


class _OwningPayload(Interposer):
    """Passes such a payload to the backend."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        self.payload = _OwnPayload(processed.data)
        return super().init(context, self.payload, compile_specs)


@check(
    "payload-freed",
    level=1,
    rests_on=("answers",),
    requires=("frees_processed",),
    prevents="payloads kept in memory twice",
)
def payload_freed(subject: Subject) -> None:
    """`init` frees the payload, keeps no view of it, and does not need it afterwards."""
    case = subject.simplest
    owning = _OwningPayload()
    with subject.load(case, through=owning) as method:
        if not owning.payload.was_freed:
            raise CheckFailedError(
                f"{case.name}: init did not call processed.free(); call it, or do not declare frees_processed"
            )
        gc.collect()
        if owning.payload.is_referred_to():
            raise CheckFailedError(
                f"{case.name}: processed.data is still referenced after it was freed; copy what you need"
            )
        owning.payload.overwrite()
        with suggesting(
            "copy what you need before you free it", where="with its payload freed and overwritten"
        ):
            subject.check_runs(method, case)


@check(
    "rss-slope", level=1, rests_on=("answers",), isolated=True, prevents="memory that leaks with each load"
)
def rss_slope(subject: Subject) -> None:
    """Loading, running and closing a method repeatedly does not increase memory use. Linux only."""
    if sys.platform != "linux":
        raise NotApplicableError("only Linux reports how much memory a process has in use")
    case = subject.simplest
    _cycle(subject, case, _MEMORY_CYCLES)
    for _ in range(_MEMORY_ROUNDS):
        before = resident_bytes()
        _cycle(subject, case, _MEMORY_CYCLES)
        growth = resident_bytes() - before
        if growth <= _GROWTH_BYTES:
            return
    raise CheckFailedError(
        f"{case.name}: the process grew by {growth // _MEMORY_CYCLES} bytes with each load of "
        f"{_MEMORY_CYCLES}; release in destroy everything that init and execute acquired"
    )


@check("threads-fds", level=1, rests_on=("answers",), prevents="threads and files that leak with each load")
def threads_fds(subject: Subject) -> None:
    """A closed method leaves no threads or open files behind, except what a process needs once.

    Windows does not list open files, and only Linux lists threads that Python does not know.
    """
    case = subject.simplest
    _cycle(subject, case, 1)
    resources = ProcessResources()
    _cycle(subject, case, _CYCLES)
    what = f"{_CYCLES} closed loads of {case.name}"
    resources.check_unchanged(_CYCLES, what, "end them in destroy")


def _cycle(subject: Subject, case: DelegatedCase, times: int) -> None:
    for _ in range(times):
        with subject.load(case) as method:
            subject.check_runs(method, case)
    gc.collect()


@check(
    "fork-after-init",
    level=1,
    rests_on=("answers",),
    isolated=True,
    prevents="children that hang or answer wrongly",
)
def fork_after_init(subject: Subject) -> None:
    """A method that was loaded before a fork gives right answers in the child, or raises. Linux only."""
    if sys.platform != "linux":
        raise NotApplicableError("the kit forks processes on Linux only")
    case = subject.simplest
    with subject.load(case) as method:
        subject.check_runs(method, case)
        problem = run_in_child(lambda: subject.check_runs(method, case), _CHILD_SECONDS)
        if problem is not None:
            raise CheckFailedError(
                f"{case.name}: after a fork, the child {problem}; detect the fork in execute and raise"
            )
        subject.check_runs(method, case)


def run_in_child(action: Callable[[], None], timeout_seconds: float) -> str | None:
    """Run `action` in a forked child. Return None if it returned or raised, else what became of the child."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of a fork with threads
        child = os.fork()
    if child == 0:
        _answer_as_child(action)
    deadline = time.monotonic() + timeout_seconds
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"did not answer within {timeout_seconds:g} s"
        time.sleep(0.005)
    status = os.waitstatus_to_exitcode(ended[1])
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return "answered wrongly" if status == _WRONG else None


_WRONG = 3
"""The exit status of a child whose answer was wrong."""


def _answer_as_child(action: Callable[[], None]) -> NoReturn:
    status = 0
    try:
        action()
    except CheckFailedError:
        status = _WRONG
    except BaseException:
        status = 0  # a clear refusal
    finally:
        os._exit(status)
