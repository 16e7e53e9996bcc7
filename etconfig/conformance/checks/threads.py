"""Checks of methods in parallel threads: one for each, or shared."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice

from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcome import CheckFailedError
from etconfig.conformance.subject.loaded_peer import LoadedPeer
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import MethodInUseError

_THREADS = 4
_ROUNDS = 10
_SWITCH_SECONDS = 1e-5

_FROM_ANY_THREAD = "do not depend on the thread that loaded the method: any thread may execute it"


@check("parallel-methods", level=2, rests_on=("answers",), prevents="races between methods", isolated=True)
def parallel_methods(subject: Subject) -> None:
    """Methods that are loaded, run and closed in separate threads give the same answers as alone."""
    cases = list(islice(subject.ordinary_cases(), _THREADS))

    def work(index: int) -> None:
        case = cases[index % len(cases)]
        with LoadedPeer(subject, case, f"{case.name} in thread {index}") as peer:
            for turn in range(_ROUNDS):
                peer.answer(index + turn, "while other methods run in other threads")

    in_threads(work)


@check("parallel-same", level=2, rests_on=("answers",), prevents="state bound to one thread", isolated=True)
def parallel_same(subject: Subject) -> None:
    """Threads that share one method are refused while another executes it, or get right answers."""
    case = subject.simplest
    turn_taking = threading.Lock()
    with LoadedPeer(subject, case, case.name) as peer:

        def work(index: int) -> None:
            for turn in range(_ROUNDS):
                try:
                    peer.answer(index + turn, "while other threads call it", _FROM_ANY_THREAD)
                except CheckFailedError as error:
                    if not isinstance(error.__cause__, MethodInUseError):
                        raise

        def take_turns(index: int) -> None:
            with turn_taking:  # so that each thread gets its turn for certain
                peer.answer(index, f"in thread {index}, which calls it alone", _FROM_ANY_THREAD)

        in_threads(work)
        in_threads(take_turns)


def in_threads(work: Callable[[int], None]) -> None:
    """Run `work` in threads that start together; raise the first problem when all have ended."""
    together = threading.Barrier(_THREADS)
    problems: list[BaseException] = []

    def run(index: int) -> None:
        try:
            together.wait()
            work(index)
        except BaseException as error:
            problems.append(error)

    with _switching_often():
        threads = [threading.Thread(target=run, args=(index,)) for index in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if problems:
        raise problems[0]


@contextmanager
def _switching_often() -> Iterator[None]:
    """Let threads interrupt each other far more often than usual, to expose races."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


CHECKS = (parallel_methods, parallel_same)
"""The checks of this module, in the order of the report."""
