"""Steps that the optimiser understands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from operator import setitem

from etconfig.kernel.memory import Array


class Passes:
    """The step that runs several others, one after the other.

    Only the type says that there is nothing else to it, so that whoever runs steps might as well
    run those: that saves a call for each.

    Attributes:
        steps: What to run; none is of this type.
    """

    __slots__ = ("steps",)

    def __init__(self, *steps: Callable[[], object]) -> None:
        if Passes in map(type, steps):
            flat = (each.steps if isinstance(each, Passes) else (each,) for each in steps)
            steps = tuple(chain.from_iterable(flat))
        self.steps: tuple[Callable[[], object], ...] = steps

    def __call__(self) -> None:
        """Run them."""
        for step in self.steps:
            step()


class Copy(partial[None]):
    """The step that copies `source`, broadcast, to `target` of the same dtype.

    It is an assignment, which numpy does in half of the time that `copyto` takes for a few
    elements. Only the type says that there is nothing else to it, so that whoever reads the copy
    might as well read the source.
    """

    __slots__ = ()

    def __new__(cls, target: Array, source: Array) -> Copy:
        return super().__new__(cls, setitem, target, ..., source)

    @property
    def target(self) -> Array:
        """What is written."""
        target: Array = self.args[0]
        return target

    @property
    def source(self) -> Array:
        """What is read: of target's shape, or one that broadcasts to it."""
        source: Array = self.args[2]
        return source
