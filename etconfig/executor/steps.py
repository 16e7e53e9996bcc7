"""Steps that the optimiser understands."""

from __future__ import annotations

from functools import partial
from operator import setitem

from etconfig.executor.memory import Array


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
