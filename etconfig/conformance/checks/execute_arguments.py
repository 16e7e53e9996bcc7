"""Checks of the arguments of execute: inputs are only read, none is kept, and errors are passed on."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.checks.check import check
from etconfig.conformance.interpose.fault_injector import PLACES, FaultInjector
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, suggesting
from etconfig.conformance.subject.subject import Subject
from etconfig.method.method import Method

_ERRORS: tuple[type[BaseException], ...] = (RuntimeError, MemoryError, KeyboardInterrupt)


class _ArgumentCopier(Interposer):
    """Passes copies of the arguments to the backend, and records what it did to them.

    Attributes:
        changed: The indices of the arguments whose elements the call changed.
        kept: The indices of the arguments that are still referenced after the call.
    """

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        lent = [arg.copy(order="K") if isinstance(arg, np.ndarray) else arg for arg in args]
        super().execute(context, handle, lent)
        self.changed = set()
        references = {}
        for index, (arg, copy) in enumerate(zip(args, lent, strict=True)):
            if isinstance(arg, np.ndarray) and isinstance(copy, np.ndarray):
                if arg.tobytes() != copy.tobytes():
                    self.changed.add(index)
                np.copyto(arg, copy)
                references[index] = weakref.ref(copy)
        del lent, copy
        gc.collect()
        self.kept = [index for index, reference in references.items() if reference() is not None]


@check(
    "aliasing", level=1, rests_on=("answers",), prevents="inputs that change, and outputs that change later"
)
def aliasing(subject: Subject) -> None:
    """`execute` does not change its inputs, and keeps no reference to an argument."""
    case = subject.simplest
    copier = _ArgumentCopier()
    with subject.load(case, through=copier) as method:
        for run in case.runs():
            subject.check_outputs(case, run, method.execute(list(run.inputs)))
            where = f"{case.name}: after execute, argument"
            changed = min(copier.changed, default=len(run.inputs))
            if changed < len(run.inputs):
                raise CheckFailedError(f"{where} {changed}, an input, has changed; write to outputs only")
            if copier.kept:
                raise CheckFailedError(
                    f"{where} {copier.kept[0]} is still referenced, but its memory belongs to the executor; "
                    "copy what you need"
                )


class _InputSharer(Interposer):
    """Passes the same array to the backend for inputs that are equal."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        shared = list(args)
        if len(args) > 2 and np.array_equal(np.asarray(args[0]), np.asarray(args[1])):
            shared[1] = args[0]
        super().execute(context, handle, shared)


@check("same-input-twice", level=1, rests_on=("answers",), prevents="arguments identified by their address")
def same_input_twice(subject: Subject) -> None:
    """Two inputs can be the same array."""
    for case in subject.cases(where=lambda case: case.is_plain and case.has_equal_inputs):
        with (
            suggesting("identify arguments by their position", where="with one array for two inputs"),
            subject.load(case, through=None if subject.is_native else _InputSharer()) as method,
        ):
            subject.check_runs(method, case)


class _InPlace(Interposer):
    """Passes the same memory to the backend for its last output and an input of that shape.

    Attributes:
        was_possible: True if there was such an input.
    """

    was_possible = False

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        *inputs, output = args
        assert isinstance(output, np.ndarray)
        for index, value in enumerate(inputs):
            if isinstance(value, np.ndarray) and (value.shape, value.dtype) == (output.shape, output.dtype):
                np.copyto(output, value)
                inputs[index] = output
                self.was_possible = True
                break
        super().execute(context, handle, [*inputs, output])


@check(
    "output-is-input", level=1, rests_on=("aliasing",), prevents="outputs written before all inputs are read"
)
def output_is_input(subject: Subject) -> None:
    """An output may share its memory with an input, as in the memory plans of programs."""
    for case in subject.ordinary_cases():
        in_place = _InPlace()
        with (
            suggesting("write outputs last", where="with the output in the memory of an input"),
            subject.load(case, through=in_place) as method,
        ):
            subject.check_runs(method, case)
        if in_place.was_possible:
            return
    raise NotApplicableError(f"no case for {subject.backend_id} has an input with the shape of its output")


@check("errors-mapped", level=1, rests_on=("runs",), prevents="swallowed errors, and Ctrl-C without effect")
def errors_mapped(subject: Subject) -> None:
    """An error inside `execute` keeps its cause; MemoryError and KeyboardInterrupt pass unchanged."""
    reached = [place for place in PLACES if _lets_errors_out(subject, place)]
    if not reached:
        raise NotApplicableError(
            f"execute of {subject.backend_id} reaches no place where the kit can inject a fault"
        )


def _lets_errors_out(subject: Subject, place: str) -> bool:
    """Require it of the first case that reaches this place; return False if there is none."""
    for case in subject.ordinary_cases():
        injector = FaultInjector(place)
        with subject.load(case, through=injector) as method:
            for error in _ERRORS:
                injector.error = error("of the kit")
                raised = _raised_by(method, case.inputs(), injector.error)
                if not injector.was_reached:
                    break
                where = f"{case.name}: {place} raised {error.__name__}"
                _check_passed_on(where, injector.error, raised, injector.answer)
            else:
                return True
    return False


def _raised_by(method: Method, inputs: list[Any], expected: BaseException) -> BaseException | None:
    """Return what the core raises; an interrupt by the user is raised."""
    try:
        method.execute(inputs)
    except KeyboardInterrupt as error:
        if error is not expected:
            raise
        return error
    except BaseException as error:
        return error
    return None


def _check_passed_on(
    where: str, error: BaseException, raised: BaseException | None, answer: BaseException | None
) -> None:
    if raised is None:
        raise CheckFailedError(f"{where}, but execute returned as usual; let errors pass")
    if isinstance(error, (MemoryError, KeyboardInterrupt)) and not isinstance(answer, type(error)):
        raise CheckFailedError(
            f"{where}, but execute turned it into {type(answer).__name__}; catch fewer errors, let it pass"
        )
    if error not in _chain(raised):
        raise CheckFailedError(
            f"{where}, but the resulting {type(raised).__name__}: {raised} does not have it as its cause; "
            "write: raise ... from error"
        )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
