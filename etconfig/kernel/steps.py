"""The steps that kernels return as data: a function and its operands.

Any callable without arguments is a step. The types here also say what running it does, so that the
executor may rearrange steps: read the source of a `Copy` instead of its target, make an `ArrayCall` again
for arrays of other shapes, run the parts of a `StepSequence` by themselves. A step of any other type, such
as a closure or a plain `functools.partial`, may do anything: it runs as it is, and after it every tensor
may have another shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from operator import setitem
from typing import Any

from etconfig.kernel.memory import Array
from etconfig.kernel.tensor import Tensor


class ArrayCall(partial[object]):
    """The step that calls `function(*operands, **keywords)`, which reads and writes arrays and nothing else.

    No operand is a tensor or a register: the call changes what is in arrays, but gives no tensor a shape,
    memory or a view, and no register a value.

    Attributes:
        keywords: The operands that are passed by name.
    """

    # a `partial`, since Python calls that from C
    __slots__ = ()

    @property
    def function(self) -> Callable[..., object]:
        """The function that is called, such as a ufunc."""
        return self.func

    @property
    def operands(self) -> tuple[Any, ...]:
        """The operands that are passed by position: arrays, numbers, axes."""
        return self.args


class Copy(ArrayCall):
    """The step that copies `source`, broadcast, to `target` of the same dtype.

    It is an assignment, which numpy does in half of the time that `copyto` takes for a few elements.
    """

    __slots__ = ()

    def __new__(cls, target: Array, source: Array) -> Copy:
        return super().__new__(cls, setitem, target, ..., source)

    @property
    def target(self) -> Array:
        """The array that is written."""
        target: Array = self.args[0]
        return target

    @property
    def source(self) -> Array:
        """The array that is read: of the target's shape, or a shape that broadcasts to it."""
        source: Array = self.args[2]
        return source


class MakeAlias:
    """The step that makes `tensor` a view of another tensor's memory: it becomes `array`.

    Attributes:
        tensor: The tensor.
        array: The view.
        token: What the tensor's `token` becomes, the same one each time: it is the same view.
    """

    __slots__ = ("array", "tensor", "token")

    def __init__(self, tensor: Tensor, array: Array) -> None:
        self.tensor = tensor
        self.array = array
        self.token = object()

    def __call__(self) -> None:
        """Make the tensor the view."""
        self.tensor.set_array(self.array, self.token)


class StepSequence:
    """The step that runs several others, one after the other.

    Attributes:
        steps: The steps; none is of this type.
    """

    __slots__ = ("steps",)

    def __init__(self, *steps: Callable[[], object]) -> None:
        if StepSequence in map(type, steps):
            steps = tuple(chain.from_iterable(map(parts_of, steps)))
        self.steps: tuple[Callable[[], object], ...] = steps

    def __call__(self) -> None:
        """Run them."""
        for step in self.steps:
            step()


def parts_of(step: Callable[[], object]) -> Sequence[Callable[[], object]]:
    """Return the steps of a sequence; of any other step, the step itself."""
    return step.steps if type(step) is StepSequence else (step,)


def may_resize(step: Callable[[], object]) -> bool:
    """Return whether running a step might give a tensor another shape: all but calls on arrays might."""
    if type(step) is StepSequence:
        return any(map(may_resize, step.steps))
    return not isinstance(step, ArrayCall)


def runnable(step: Callable[[], object]) -> Callable[[], object]:
    """Return the quickest callable that does what a step does.

    Python before 3.12 calls an instance of a subclass of `partial` more slowly than a `partial`: by a tenth
    of what numpy takes for a few elements.
    """
    return partial(step) if isinstance(step, ArrayCall) else step
