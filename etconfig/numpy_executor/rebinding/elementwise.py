"""`ElementwiseBind`: binds an elementwise kernel once, and its step to other shapes without the kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from etconfig.kernel.checks import broadcast_shape
from etconfig.kernel.registry import Step
from etconfig.kernel.steps import ArrayCall, StepSequence, parts_of
from etconfig.kernel.tensor import Tensor


class _Pattern(NamedTuple):
    """A call to make again: `function(*operands, **keywords)`, with tensors for their current arrays."""

    function: Callable[..., object]
    operands: Sequence[object]
    keywords: Mapping[str, object]

    def step(self) -> Step:
        """Return the call on the arrays that the tensors have now."""
        operands = [each.array if type(each) is Tensor else each for each in self.operands]
        if not self.keywords:
            return ArrayCall(self.function, *operands)
        named = {key: each.array if type(each) is Tensor else each for key, each in self.keywords.items()}
        return ArrayCall(self.function, *operands, **named)


class ElementwiseBind:
    """Binds an instruction of an elementwise kernel (see `Kernel`) whose arguments are always the same.

    From the step that the kernel made for the first shape, it learns which operands are the arrays of
    which tensors. For other shapes, it resizes the output to the shape that the tensors broadcast to,
    and makes the same calls on their current arrays. If the step works on other arrays, such as
    converted copies, the kernel binds each shape itself.
    """

    __slots__ = ("_arguments", "_bind", "_inputs", "_out", "_patterns")

    def __init__(self, bind: Callable[[Sequence[object]], Step], arguments: Sequence[object]) -> None:
        """Bind `arguments`, of which the last is the output, with `bind`."""
        *inputs, out = [each for each in arguments if type(each) is Tensor]
        self._bind = bind
        self._arguments = arguments
        self._inputs = inputs
        self._out = out
        self._patterns: Sequence[_Pattern] = ()

    def __call__(self) -> Step:
        """Return the step for the shapes that the tensors have now."""
        patterns = self._patterns
        if not patterns:
            step = self._bind(self._arguments)
            self._patterns = self._learn(step)
            return step
        self._out.resize(broadcast_shape(*[each.array.shape for each in self._inputs]))
        if len(patterns) == 1:
            return patterns[0].step()
        return StepSequence(*[each.step() for each in patterns])

    def _learn(self, step: Step) -> Sequence[_Pattern]:
        """Return the patterns of the calls of a step; none if it works on arrays of no tensor."""
        found: list[_Pattern] = []
        for each in parts_of(step):
            if not isinstance(each, ArrayCall):
                return ()
            operands = [*map(self._general, each.operands)]
            keywords = {key: self._general(value) for key, value in each.keywords.items()}
            if any(isinstance(value, np.ndarray) and value.ndim for value in (*operands, *keywords.values())):
                return ()
            found.append(_Pattern(each.function, operands, keywords))
        return found

    def _general(self, operand: object) -> object:
        """Return the tensor whose array an operand is; else the operand, such as a number."""
        for tensor in (*self._inputs, self._out):
            if tensor.array is operand:
                return tensor
        return operand
