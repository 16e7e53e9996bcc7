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
from etconfig.executor.tensor import Tensor
from etconfig.executor.values import Registers
from etconfig.program import model
from etconfig.program.model import TensorShapeDynamism

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

    def __init__(self, values: Sequence[model.EValue], registers: Registers, varying: frozenset[int]) -> None:
        """Patterns over `registers`, which hold what `values` describe; `varying` ones may be anything."""
        self._registers = registers
        self._patterns: dict[
            int, dict[object, _Pattern]
        ] = {}  # by operator, then by the arguments' signatures
        self._arrays = [*registers.arrays]
        self._signatures: list[Signature] = [*registers.forms]
        for index, value in enumerate(values):
            if type(value) is not model.Tensor:
                self._signatures[index] = _signature(value)
            elif value.sizes and value.is_constant and value.shape_dynamism is TensorShapeDynamism.STATIC:
                tensor = registers.initial(index)
                assert isinstance(tensor, Tensor)
                self._arrays[index] = tensor.array
                self._signatures[index] = "constant", tensor.form
        for index in varying:
            self._signatures[index] = None

    def steps(
        self,
        instructions: Sequence[model.Instruction],
        start: int,
        make: Callable[[model.Instruction, int], Step],
    ) -> list[Step]:
        """The steps of instructions from index `start` on: `make` gives those without a pattern.

        `make` is called in order, with an instruction and its index; it may `learn` and `update`.
        """
        signatures, arrays, patterns = self._signatures, self._arrays, self._patterns
        steps: list[Step] = []
        for index, instruction in enumerate(instructions, start):
            pattern = None
            if type(instruction) is model.KernelCall:
                op_index, args = instruction
                if op_index in patterns and len(args) > 2 and args[-1] == args[-2]:
                    pattern = patterns[op_index].get(itemgetter(*args)(signatures))
            if pattern is None:
                steps.append(make(instruction, index))
                continue
            function, pick, keywords, extra = pattern
            indices = args + extra
            operands = itemgetter(*pick(indices))(arrays)
            if keywords:
                named = {name: arrays[indices[position]] for name, position in keywords}
                steps.append(partial(function, *operands, **named))
            else:
                steps.append(partial(function, *operands))
        return steps

    def update(self, values: Iterable[int]) -> None:
        """Look again at tensors that have other arrays now."""
        for index in values:
            tensor = self._registers.initial(index)
            assert isinstance(tensor, Tensor)
            self._arrays[index] = tensor.array

    def learn(self, op_index: int, args: tuple[int, ...], step: Step) -> None:
        """Remember `step`, which a uniform kernel made, for instructions like its own.

        Only if no array but the output's is given twice, in one tensor or in two: else an operand could be
        either. And no `Copy`: the optimiser wants to see each of them.
        """
        is_regular = len(args) > 2 and args[-1] == args[-2] and self._are_distinct(args[:-1])
        if not (is_regular and type(step) is partial and len(step.args) > 1):
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
        self._patterns.setdefault(op_index, {})[signatures] = _Pattern(
            step.func,
            itemgetter(*positions[:count]),
            tuple(zip(step.keywords, positions[count:], strict=True)),
            tuple(indices[len(args) :]),
        )

    def _are_distinct(self, args: Sequence[int]) -> bool:
        """Whether all of these values, and the arrays that some of them are, are different ones."""
        arrays = [id(array) for array in map(self._arrays.__getitem__, args) if array is not None]
        return len({*args}) == len(args) and len({*arrays}) == len(arrays)

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


def _signature(value: model.EValue) -> Signature:
    """What a step may depend on in a value that is no tensor: the value itself, if it is no list."""
    kind = type(value)
    if kind in _PLAIN:
        return kind, value  # the types tell 1 from True
    if isinstance(value, model.Double):
        return float, value.double_val.hex()  # 0.0 equals -0.0
    return None


_PLAIN = (model.Int, model.Bool, model.String, type(None))
