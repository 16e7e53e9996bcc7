"""Steps of like instructions: made once by the kernel, then again from a pattern of what it made.

A large program holds thousands of instructions that differ only in where their tensors lie. What
its kernel made of the first one is a function with operands bound to it; for the next one, the
operands are replaced by the arrays of its own tensors, without asking the kernel again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from etconfig.executor.registry import Step
from etconfig.executor.tensor import Register, Tensor
from etconfig.program import model

Signature: TypeAlias = "object | None"
"""What a step depends on in one argument, apart from its address; None if that may be anything."""


class _Pattern(NamedTuple):
    """How a step is made: `function(*operands, **keywords)`, each an index into arguments + `extra`.

    Attributes:
        function: What the step calls.
        pick: Takes the operands' values out of the arguments + `extra`.
        keywords: Where each keyword is in the arguments + `extra`.
        extra: Indices of arrays that all steps of the pattern share, such as numbers.
    """

    function: Callable[..., object]
    pick: Callable[[tuple[int, ...]], tuple[int, ...]]
    keywords: tuple[tuple[str, int], ...]
    extra: tuple[int, ...]


class StepPatterns:
    """The patterns of one plan: of instructions with one output, whose kernels are uniform (see `Kernel`)."""

    def __init__(
        self, values: Sequence[model.EValue], registers: Sequence[Register], varying: frozenset[int]
    ) -> None:
        """Patterns over `registers`, which hold what `values` describe; `varying` ones may be anything."""
        self._registers = registers
        self._patterns: dict[object, _Pattern] = {}
        self._arrays = [
            register.value.array if type(register.value) is Tensor else None for register in registers
        ]
        self._signatures = [*map(_signature, values, registers)]
        for index in varying:
            self._signatures[index] = None

    def step(self, op_index: int, args: tuple[int, ...]) -> Step | None:
        """The step of an instruction if one like it was learned."""
        if len(args) < 3 or args[-1] != args[-2]:
            return None
        pattern = self._patterns.get((op_index, itemgetter(*args)(self._signatures)))
        if pattern is None:
            return None
        function, pick, keywords, extra = pattern
        indices = args + extra
        operands = itemgetter(*pick(indices))(self._arrays)
        if not keywords:
            return partial(function, *operands)
        return partial(function, *operands, **{name: self._arrays[indices[i]] for name, i in keywords})

    def update(self, values: Iterable[int]) -> None:
        """Look again at tensors that have other arrays now."""
        for index in values:
            tensor = self._registers[index].value
            assert isinstance(tensor, Tensor)
            self._arrays[index] = tensor.array

    def learn(self, op_index: int, args: tuple[int, ...], step: Step) -> None:
        """Remember `step`, which a uniform kernel made, for instructions like its own.

        Only if no argument but the output is given twice: else an operand could be either.
        """
        is_regular = len(args) > 2 and args[-1] == args[-2] and len({*args}) == len(args) - 1
        if not (is_regular and isinstance(step, partial) and len(step.args) > 1):
            return
        signatures = itemgetter(*args)(self._signatures)
        if None in signatures:
            return
        indices = list(args)
        operands = (*step.args, *step.keywords.values())
        found = [self._position(indices, operand) for operand in operands]
        positions = [position for position in found if position is not None]
        if len(positions) < len(operands):
            return
        count = len(step.args)
        self._patterns[op_index, signatures] = _Pattern(
            step.func,
            itemgetter(*positions[:count]),
            tuple(zip(step.keywords, positions[count:], strict=True)),
            tuple(indices[len(args) :]),
        )

    def _position(self, indices: list[int], operand: Any) -> int | None:
        """Where `operand` is among the arrays at `indices`; what all steps may share is added to them."""
        for position, index in enumerate(indices):
            if self._arrays[index] is operand:
                return position
        if isinstance(operand, np.ndarray) and operand.ndim:
            return None
        self._arrays.append(operand)
        indices.append(len(self._arrays) - 1)
        return len(indices) - 1


def _signature(value: model.EValue, register: Register) -> Signature:
    """What a step may depend on: a planned static tensor's form, or a constant scalar itself."""
    if type(value) is model.Tensor:
        tensor = register.value
        assert isinstance(tensor, Tensor)
        is_static = value.shape_dynamism is model.TensorShapeDynamism.STATIC
        return tensor.form if is_static and value.allocation_info is not None else None
    if value is None:
        return type(None)
    if isinstance(value, model.Double):
        return float, value.double_val.hex()  # 0.0 equals -0.0
    if isinstance(value, (model.Int, model.Bool, model.String)):
        return type(value), value  # the types tell 1 from True
    return None
