"""Faults while a backend executes, such as memory that runs out, or Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeAlias

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.interpose.interposer import Interposer

_ExecuteArguments: TypeAlias = "tuple[ExecuteContext[Any], Sequence[Value]]"
"""The arguments of `execute`, except the handle."""

Fail: TypeAlias = Callable[..., NoReturn]
"""Raises the error, whatever the arguments."""


class FaultInjector(Interposer):
    """Raises an error at a place that the backend reaches while it executes.

    Args:
        place: A key of `PLACES`.

    Attributes:
        error: The error to raise in later executes; None lets them run.
        was_reached: True if the backend reached the place in the last execute.
        answer: What the backend raised in the last execute; None if it returned.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self.error: BaseException | None = None
        self.was_reached = False
        self.answer: BaseException | None = None

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        """Forward the call; if there is an error to raise, prepare the place to raise it."""
        self.was_reached, self.answer = False, None
        if self.error is not None:
            context, args = PLACES[self._place](self._fail, context, args)
        try:
            super().execute(context, handle, args)
        except BaseException as error:
            self.answer = error
            raise

    def _fail(self, *_: object) -> NoReturn:
        assert self.error is not None
        self.was_reached = True
        raise self.error


class _NoMemory:
    """An allocator whose memory is exhausted."""

    def __init__(self, fail: Fail) -> None:
        self._fail = fail

    def allocate(self, size_bytes: int, alignment_bytes: int = 64) -> NoReturn:
        self._fail()


class _Unreadable(Sequence[Value]):
    """Arguments that cannot be read."""

    def __init__(self, fail: Fail, count: int) -> None:
        self._fail = fail
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> NoReturn:
        self._fail()


def _memory(fail: Fail, context: ExecuteContext[Any], args: Sequence[Value]) -> _ExecuteArguments:
    return replace(context, temporary=_NoMemory(fail)), args


def _workers(fail: Fail, context: ExecuteContext[Any], args: Sequence[Value]) -> _ExecuteArguments:
    return replace(context, parallel_for=fail), args


def _arguments(fail: Fail, context: ExecuteContext[Any], args: Sequence[Value]) -> _ExecuteArguments:
    return context, _Unreadable(fail, len(args))


ARGUMENTS = "args"
"""The place that every backend reaches, since it reads its arguments."""

PLACES: Mapping[str, Callable[[Fail, ExecuteContext[Any], Sequence[Value]], _ExecuteArguments]] = {
    "context.temporary": _memory,
    "context.parallel_for": _workers,
    ARGUMENTS: _arguments,
}
"""The places where a fault can be injected, and the arguments of `execute` that raise it there."""
