"""Checks of methods side by side: none affects another, in turns, in threads or when it fails."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

import numpy as np

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.checks.check import check
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.subject.changed_payload import refuses_part
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.loaded_peer import LoadedPeer
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import DelegateError, MethodInUseError


@check(
    "matrix", level=2, rests_on=("answers",), prevents="handles that are mixed up between programs or methods"
)
def matrix(subject: Subject) -> None:
    """Methods of several programs, loaded together and run in turns, all give right answers."""
    case = _of_several_methods(subject)
    others = [each for each in subject.ordinary_cases() if each.name != case.name]
    with ExitStack() as stack:
        loaded = [
            stack.enter_context(
                LoadedPeer(subject, each, f"{each.name}.{name} of program {number}", name=name)
            )
            for number, each in enumerate([case, case, *others[:2]], 1)
            for name in each.case.methods
        ]
        when = f"next to {len(loaded) - 1} other loaded methods"
        for turn, order in enumerate((loaded, loaded[::-1], loaded[::2] + loaded[1::2])):
            for position, peer in enumerate(order):
                peer.answer(turn + position, when)
        for peer in loaded[::2]:
            peer.method.close()
        for turn, peer in enumerate(loaded[1::2]):
            peer.answer(turn, "after others were closed")


def _of_several_methods(subject: Subject) -> DelegatedCase:
    """Return a case with several methods, or the simplest if the backend's capabilities allow none."""
    try:
        return next(subject.cases(where=lambda case: len(case.methods) > 1))
    except NotApplicableError:
        return subject.simplest


@check("interleave", level=2, rests_on=("answers",), prevents="outputs that a later run overwrites")
def interleave(subject: Subject) -> None:
    """Outputs do not change while another method runs, or while the same one runs again."""
    case = subject.simplest
    held = None if subject.is_native else _ArgumentKeeper()
    with subject.load(case, through=held) as first, subject.load(case) as second:
        runs = case.runs()
        outputs = first.execute(list(runs[0].inputs))
        subject.check_outputs(case, runs[0], outputs)
        copies = [np.array(output) for output in outputs]
        second.execute(list(runs[-1].inputs))
        if held is not None:
            held.check_unchanged(f"{case.name}: while another method of the program ran")
        first.execute(list(runs[-1].inputs))
        if not _are_equal(outputs, copies):
            raise CheckFailedError(
                f"{case.name}: outputs of the first execute changed in a later one; "
                "write only into the arrays of the call, and keep none of them"
            )


class _ArgumentKeeper(Interposer):
    """Keeps the arguments of the last execute, as no backend may, to find later writes into them."""

    _args: Sequence[Value] = ()
    _copies: Sequence[Any] = ()

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        self._args = list(args)
        self._copies = [np.array(arg) for arg in args]

    def check_unchanged(self, when: str) -> None:
        """Raise CheckFailedError if an argument has changed."""
        for index, (arg, copy) in enumerate(zip(self._args, self._copies, strict=True)):
            if not _are_equal([arg], [copy]):
                raise CheckFailedError(
                    f"{when}, argument {index} of this one changed; write only during execute, and keep no "
                    "argument"
                )


@check(
    "fault-contained", level=2, rests_on=("answers",), prevents="one failure that breaks all loaded methods"
)
def fault_contained(subject: Subject) -> None:
    """After a failed init and a failed execute, the same method and all others give right answers."""
    case = subject.simplest
    remover = None if subject.is_native else _ArgumentRemover()
    with ExitStack() as stack:
        loaded = [
            stack.enter_context(LoadedPeer(subject, case, f"{case.name}, loaded before,")),
            stack.enter_context(
                LoadedPeer(subject, case, f"{case.name}, whose execute failed,", through=remover)
            ),
        ]
        for peer in loaded:
            peer.answer(0, "before any fault", "see the other checks")
        faults = ["init"] if refuses_part(subject, case, 0.5) else []
        if remover is not None:
            faults.append("execute")
            _fail_execute(loaded[-1], remover)
        if not faults:
            raise NotApplicableError(f"half of the payload was accepted, and {_NATIVE}")
        when = f"after a failed {' and a failed '.join(faults)}"
        for peer in loaded:
            peer.answer(1, when, _UNDO)
        with LoadedPeer(subject, case, f"{case.name}, loaded afterwards,") as after:
            after.answer(1, when, _UNDO)


_NATIVE = "another runtime makes the calls, so no fault can be injected"
_UNDO = "let a failed call change nothing"


def _fail_execute(target: LoadedPeer, remover: _ArgumentRemover) -> None:
    """Remove the arguments of one execute. Raises CheckFailedError if the backend works without any."""
    remover.is_on = True
    try:
        target.method.execute(target.case.inputs())
    except DelegateError:
        return
    finally:
        remover.is_on = False
    raise CheckFailedError(
        f"{target.case.name}: execute without any argument did not raise an error; check the arguments "
        "before computing"
    )


class _ArgumentRemover(Interposer):
    """Removes the arguments of each execute while it is on."""

    is_on = False

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, () if self.is_on else args)


def _are_equal(values: Sequence[Any], copies: Sequence[Any]) -> bool:
    """Check whether all bits are the same; NaN equals itself."""
    return all(
        np.asarray(value).tobytes() == copy.tobytes() for value, copy in zip(values, copies, strict=True)
    )


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
