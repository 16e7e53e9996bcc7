"""Methods side by side: what one does changes nothing for another, in turns and in parallel threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

import numpy as np

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.check import CheckFailedError, NotApplicableError, check
from etconfig.conformance.given import load_changed
from etconfig.conformance.interposed import Interposed
from etconfig.conformance.subject import DelegatedCase, Subject
from etconfig.errors import DelegateError, EtconfigError, MethodInUseError
from etconfig.execution.method import Method
from etconfig.records import record

_THREADS = 4
_ROUNDS = 10
_SWITCH_SECONDS = 1e-5

_KEEP_APART = "keep what belongs to a delegate in the handle that init returns"


@record(frozen=True, kw_only=True)
class _Neighbour:
    """A loaded method, and how to tell whether it answers rightly."""

    label: str
    subject: Subject
    case: DelegatedCase
    name: str
    method: Method

    def answer(self, turn: int, when: str, advice: str = _KEEP_APART) -> None:
        """Execute the run of this turn, and compare. Raises CheckFailedError."""
        runs = self.case.runs(self.name)
        run = runs[turn % len(runs)]
        try:
            outputs = self.method.execute(list(run.inputs))
            self.subject.check_outputs(self.case, run, outputs, self.name)
        except (CheckFailedError, EtconfigError) as error:
            raise CheckFailedError(f"{self.label} fails {when}: {error}; {advice}") from error


@check("matrix", level=2, prevents="handles that are mixed up between programs or methods")
def matrix(subject: Subject) -> None:
    """Methods of several programs, loaded together and run in turns, all answer rightly."""
    case = _of_several_methods(subject)
    others = [each for each in subject.ordinary_cases() if each.name != case.name]
    with ExitStack() as stack:
        loaded = [
            _load(subject, stack, each, name, f"{each.name}.{name} of program {number}")
            for number, each in enumerate([case, case, *others[:2]], 1)
            for name in each.case.methods
        ]
        when = f"beside {len(loaded) - 1} other loaded methods"
        for turn, order in enumerate((loaded, loaded[::-1], loaded[::2] + loaded[1::2])):
            for position, neighbour in enumerate(order):
                neighbour.answer(turn + position, when)
        for neighbour in loaded[::2]:
            neighbour.method.close()
        for turn, neighbour in enumerate(loaded[1::2]):
            neighbour.answer(turn, "after others were closed")


def _of_several_methods(subject: Subject) -> DelegatedCase:
    """A case with several methods, or the simplest where the backend's capabilities leave none."""
    try:
        return next(subject.cases(where=lambda case: len(case.methods) > 1))
    except NotApplicableError:
        return subject.simplest


@check("interleave", level=2, prevents="scratch memory and outputs that are written later")
def interleave(subject: Subject) -> None:
    """Outputs stay as they are while another method runs, and while the same one runs again."""
    case = subject.simplest
    held = None if subject.is_native else _Held()
    with subject.load(case, through=held) as first, subject.load(case) as second:
        runs = case.runs()
        outputs = first.execute(list(runs[0].inputs))
        copies = [np.array(output) for output in outputs]
        second.execute(list(runs[-1].inputs))
        if held is not None:
            held.check_unchanged(f"{case.name}: while another method of the program ran")
        first.execute(list(runs[-1].inputs))
        if not _are_equal(outputs, copies):
            raise CheckFailedError(
                f"{case.name}: outputs of the first execute changed at a later one; "
                "write into the arrays of the call alone, and keep none of them"
            )


class _Held(Interposed):
    """Keeps the arguments of the last execute, as no backend may, to see who writes into them afterwards."""

    _args: Sequence[Value] = ()
    _copies: Sequence[Any] = ()

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        self._args = list(args)
        self._copies = [np.array(arg) for arg in args]

    def check_unchanged(self, when: str) -> None:
        """Raises CheckFailedError when an argument is not what it was."""
        for index, (arg, copy) in enumerate(zip(self._args, self._copies, strict=True)):
            if not _are_equal([arg], [copy]):
                raise CheckFailedError(
                    f"{when}, argument {index} of this one changed; a delegate writes during its own "
                    "execute only, and keeps no argument"
                )


@check("parallel-methods", level=2, prevents="races between methods", isolated=True)
def parallel_methods(subject: Subject) -> None:
    """Methods that are loaded, run and closed in threads of their own answer as they do alone."""
    cases = list(islice(subject.ordinary_cases(), _THREADS))

    def work(index: int) -> None:
        case = cases[index % len(cases)]
        with ExitStack() as stack:
            neighbour = _load(subject, stack, case, case.method, f"{case.name} in thread {index}")
            for turn in range(_ROUNDS):
                neighbour.answer(index + turn, "while other methods run in other threads")

    _in_threads(work)


@check("parallel-same", level=2, prevents="state that is bound to a thread", isolated=True)
def parallel_same(subject: Subject) -> None:
    """Threads that share one method are refused while another is inside, or get right answers."""
    case = subject.simplest
    turn_taking = threading.Lock()
    with ExitStack() as stack:
        neighbour = _load(subject, stack, case, case.method, case.name)
        advice = "a method may be executed from any thread: bind nothing to the one that loaded it"

        def work(index: int) -> None:
            for turn in range(_ROUNDS):
                try:
                    neighbour.answer(index + turn, "while other threads call it", advice)
                except CheckFailedError as error:
                    if not isinstance(error.__cause__, MethodInUseError):
                        raise

        def take_turns(index: int) -> None:
            with turn_taking:  # so that each thread is surely served
                neighbour.answer(index, f"in thread {index}, when it alone calls it", advice)

        _in_threads(work)
        _in_threads(take_turns)


@check("fault-contained", level=2, prevents="one failure that poisons all that is loaded")
def fault_contained(subject: Subject) -> None:
    """After a failed init and a failed execute, that method and all others answer rightly."""
    case = subject.simplest
    faulty = None if subject.is_native else _Faulty()
    with ExitStack() as stack:
        loaded = [
            _load(subject, stack, case, case.method, f"{case.name}, loaded before,"),
            _load(subject, stack, case, case.method, f"{case.name}, whose execute failed,", faulty),
        ]
        for neighbour in loaded:
            neighbour.answer(0, "before any fault", "see the other checks")
        faults = ["init"] if _fails_init(subject, case) else []
        if faulty is not None:
            faults.append("execute")
            _fail_execute(loaded[-1], faulty)
        if not faults:
            raise NotApplicableError(f"half of the payload was accepted, and {_WATCHED_BY_NOBODY}")
        when = f"after a failed {' and a failed '.join(faults)}"
        for neighbour in loaded:
            neighbour.answer(1, when, _AS_IF_NOT_MADE)
        after = _load(subject, stack, case, case.method, f"{case.name}, loaded afterwards,")
        after.answer(1, when, _AS_IF_NOT_MADE)


_WATCHED_BY_NOBODY = "another runtime makes the calls, so none of them can be spoilt"
_AS_IF_NOT_MADE = "leave a failed call as if it had not been made"


def _fails_init(subject: Subject, case: DelegatedCase) -> bool:
    """Whether half of a payload is refused."""
    try:
        load_changed(subject, case, lambda payload: payload[: len(payload) // 2]).close()
    except EtconfigError:
        return True
    return False


def _fail_execute(struck: _Neighbour, faulty: _Faulty) -> None:
    """Take the arguments from one execute. Raises CheckFailedError if the backend works without any."""
    faulty.is_on = True
    try:
        struck.method.execute(list(struck.case.runs()[0].inputs))
    except DelegateError:
        return
    finally:
        faulty.is_on = False
    raise CheckFailedError(
        f"{struck.case.name}: execute without any argument raised nothing, expected an error; check the "
        "arguments before computing"
    )


class _Faulty(Interposed):
    """Takes the arguments from an execute, when it is on."""

    is_on = False

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, () if self.is_on else args)


def _load(
    subject: Subject,
    stack: ExitStack,
    case: DelegatedCase,
    name: str,
    label: str,
    through: Interposed | None = None,
) -> _Neighbour:
    method = stack.enter_context(subject.load(case, name, through=through))
    return _Neighbour(label=label, subject=subject, case=case, name=name, method=method)


def _in_threads(work: Callable[[int], None]) -> None:
    """Run `work` in threads that begin together; raise the first problem when all have ended."""
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
    """Let threads interrupt each other far more often than usual, so that races show."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def _are_equal(values: Sequence[Any], copies: Sequence[Any]) -> bool:
    """Whether all bits are the same; NaN equals itself."""
    return all(
        np.asarray(value).tobytes() == copy.tobytes() for value, copy in zip(values, copies, strict=True)
    )


CHECKS = (matrix, interleave, parallel_methods, parallel_same, fault_contained)
"""The checks of this module, in the order of the report."""
