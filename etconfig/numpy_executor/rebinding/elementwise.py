"""`ElementwiseBind`: elementwise kernels, asked once and bound to other shapes without asking again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from etconfig.kernel.checks import broadcast_shape
from etconfig.kernel.registry import Step
from etconfig.kernel.steps import ArrayCall, StepSequence, parts_of
from etconfig.kernel.tensor import Tensor


class _Pattern(NamedTuple):
    """One pass: `function(*operands, **keywords)`, where a tensor stands for the array that it has then."""

    function: Callable[..., object]
    operands: Sequence[object]
    keywords: Mapping[str, object]

    def step(self) -> Step:
        """The pass on the arrays that the tensors have now."""
        operands = [each.array if type(each) is Tensor else each for each in self.operands]
        if not self.keywords:
            return ArrayCall(self.function, *operands)
        named = {key: each.array if type(each) is Tensor else each for key, each in self.keywords.items()}
        return ArrayCall(self.function, *operands, **named)


class ElementwiseBind:
    """Binds an instruction of an elementwise kernel (see `Kernel`) whose arguments are always the same.

    Of the step that the kernel made for the first shape it learns which arrays are those of which
    tensors. For other shapes it gives the output the shape that the tensors broadcast to, and makes
    the same calls on the arrays that they have then. Where the step works on other arrays, such as
    converted ones, the kernel is asked for each shape.
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
        """The step for the shapes that the tensors have now."""
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
        """How to make the step again; nothing if that is not sure."""
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
        """The tensor whose array an operand is; else the operand, such as a number."""
        for tensor in (*self._inputs, self._out):
            if tensor.array is operand:
                return tensor
        return operand
