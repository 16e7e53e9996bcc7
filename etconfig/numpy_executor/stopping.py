"""Ending a run between two steps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from etconfig.backend import StopSignal
from etconfig.kernel.registry import Step
from etconfig.method.stop import StopCheck


class StoppedAt(StopSignal):
    """Ends a run, with the place where it ended.

    Attributes:
        index: The index of the instruction; None if the method has none.
        name: Its operator, or the backend of its delegate.
    """

    def __init__(self, index: int | None, name: str | None) -> None:
        super().__init__(index, name)
        self.index = index
        self.name = name


class StoppableStep:
    """A step of several instructions that can end between them."""

    __slots__ = ()

    def run_until(self, stop: StopCheck | None) -> None:
        """Run the instructions, or those before `stop` ends the run. Raises StoppedAt."""
        raise NotImplementedError


def checked_steps(steps: Iterator[Step], stop: StopCheck) -> Iterator[Step]:
    """Yield steps, and check before each whether the run must end.

    Raises:
        StopSignal: it must; the last step that was taken from `steps` did not run.
    """
    for step in steps:
        stop.check()
        yield partial(step.run_until, stop) if isinstance(step, StoppableStep) else step
