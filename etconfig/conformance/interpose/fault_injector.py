"""Disturb a backend while it executes, as memory that runs out or Ctrl-C would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeAlias

from etconfig.backend import ExecuteContext, Value
from etconfig.conformance.interpose.interposer import Interposer

_ExecuteArguments: TypeAlias = "tuple[ExecuteContext[Any], Sequence[Value]]"
"""What an execute is given, besides the handle."""

Fail: TypeAlias = Callable[..., NoReturn]
"""Raises the error, whatever it is called with."""


class FaultInjector(Interposer):
    """Raises an error at a place that the backend comes to when it executes.

    Args:
        place: A key of `PLACES`.

    Attributes:
        error: What to raise in the executes that follow; None lets them run.
        was_reached: Whether the backend came to the place.
        answer: What the backend raised the last time; None if it returned.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self.error: BaseException | None = None
        self.was_reached = False
        self.answer: BaseException | None = None

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        """Hand on; the place is disturbed if there is an error to raise."""
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
    """An allocator that has none."""

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
"""Every backend reads its arguments."""

PLACES: Mapping[str, Callable[[Fail, ExecuteContext[Any], Sequence[Value]], _ExecuteArguments]] = {
    "context.temporary": _memory,
    "context.parallel_for": _workers,
    ARGUMENTS: _arguments,
}
"""Where a backend can be disturbed, and what it is given then."""
