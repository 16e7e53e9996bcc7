"""Steps of similar instructions: the kernel makes the first one, a pattern of it makes the others.

A large program has thousands of instructions that differ only in where their tensors lie. For the
first one, the kernel returns a function and its operands; for the others, the arrays of their own
tensors replace the operands, and the kernel is not called again. Since memory is reused, many
instructions even do the same to the same arrays: these share one step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from etconfig.kernel.registry import Kernel, Step
from etconfig.kernel.steps import ArrayCall, runnable
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor.registers import Registers
from etconfig.program import model
from etconfig.program.model import TensorShapeDynamism

_Signature: TypeAlias = "object | None"
"""The properties of one argument that a step depends on, except its address; None until computed."""

_ANYTHING = object()
"""The signature of an argument that a step may depend on in any way."""


class _Pattern(NamedTuple):
    """A step to be made again: `function(*operands)`, the last operands by name.

    Attributes:
        function: The function that the step calls.
        operands: The position of each operand among the arguments and `extra`.
        names: The names of the last operands, which are passed by name.
        extra: Indices of arrays that all steps of the pattern share, such as numbers.
    """

    function: Callable[..., object]
    operands: tuple[int, ...]
    names: tuple[str, ...]
    extra: tuple[int, ...]


class _Learned(NamedTuple):
    """The known patterns and steps of one operator.

    Attributes:
        patterns: The patterns, by the signatures of the arguments.
        steps: The steps, by the identities of the arguments.
    """

    patterns: dict[object, _Pattern]
    steps: dict[object, Step]


class StepPatterns:
    """The patterns of one plan, for instructions with one output and a uniform kernel (see `Kernel`)."""

    def __init__(
        self, registers: Registers, kernels: Sequence[Kernel | None], varying: frozenset[int]
    ) -> None:
        """Find patterns over `registers`, of which `varying` ones may be anything.

        Args:
            registers: The plan's values.
            kernels: The kernels of its operators.
            varying: The values, by index, that may be others from run to run.
        """
        self._registers = registers
        self._are_uniform = [kernel is not None and kernel.is_uniform for kernel in kernels]
        self._learned: dict[int, _Learned] = {}  # by operator
        self._arrays = [*registers.arrays]
        # equal values have one identity, since they have one array
        self._identities = [*registers.values.places]
        self._signatures: list[_Signature] = [*registers.forms]
        for index in varying:
            self._signatures[index] = _ANYTHING

    def steps(
        self,
        instructions: Sequence[model.Instruction],
        start: int,
        make: Callable[[model.Instruction, int], Step],
    ) -> list[Step]:
        """Return the steps of instructions from index `start` on; `make` makes those without a pattern.

        `make` is called in order, with an instruction and its index; it may call `update`.
        """
        identities = self._identities
        steps: list[Step] = []
        for index, instruction in enumerate(instructions, start):
            if type(instruction) is not model.KernelCall:
                steps.append(make(instruction, index))
                continue
            step = None
            op_index, args = instruction
            learned = self._learned.get(op_index)
            # the program repeats a single output: the last two arguments are the same
            if learned is not None and len(args) > 2 and args[-1] == args[-2]:
                key = itemgetter(*args)(identities)
                step = learned.steps.get(key)
                if step is None and (step := self._from_pattern(learned.patterns, args)) is not None:
                    learned.steps[key] = step
            if step is None:
                step = make(instruction, index)
                if self._are_uniform[op_index]:
                    self._learn(op_index, args, step)
                step = runnable(step)
            steps.append(step)
        return steps

    def _from_pattern(self, patterns: Mapping[object, _Pattern], args: tuple[int, ...]) -> Step | None:
        """Return the step of a call with these arguments, if there is a pattern for it."""
        self._look_at(args)
        pattern = patterns.get(itemgetter(*args)(self._signatures))
        if pattern is None:
            return None
        indices = args + pattern.extra
        operands = [self._arrays[indices[place]] for place in pattern.operands]
        count = len(operands) - len(pattern.names)
        named = dict(zip(pattern.names, operands[count:], strict=True))
        return partial(pattern.function, *operands[:count], **named)

    def update(self, values: Iterable[int]) -> None:
        """Look again at tensors that have other arrays now."""
        for index in values:
            tensor = self._registers.initial(index)
            assert isinstance(tensor, Tensor)
            self._arrays[index] = tensor.array
            self._identities[index] = -1 - index  # an identity that no other value has

    def _learn(self, op_index: int, args: tuple[int, ...], step: Step) -> None:
        """Remember `step`, which a uniform kernel made, for similar instructions.

        Not if an array other than the output's is passed twice, in one tensor or in two: an operand could
        then stand for either. Nor a `Copy`: the optimizer must see each of them.
        """
        if not (
            type(step) is ArrayCall and len(step.operands) > 1 and len(args) > 2 and args[-1] == args[-2]
        ):
            return
        self._look_at(args)
        signatures = itemgetter(*args)(self._signatures)
        if _ANYTHING in signatures or not self._are_distinct(args[:-1]):
            return
        indices = list(args)
        operands = (*step.operands, *step.keywords.values())
        found = [self._position(indices, operand) for operand in operands]
        positions = tuple([position for position in found if position is not None])
        if len(positions) == len(operands):
            names, extra = tuple(step.keywords), tuple(indices[len(args) :])
            learned = self._learned.setdefault(op_index, _Learned({}, {}))
            learned.patterns[signatures] = _Pattern(step.function, positions, names, extra)

    def _are_distinct(self, args: Sequence[int]) -> bool:
        """Return whether all of these values, and the arrays that some of them are, are different ones."""
        arrays = [id(array) for array in map(self._arrays.__getitem__, args) if array is not None]
        return len({*args}) == len(args) and len({*arrays}) == len(arrays)

    def _position(self, indices: list[int], operand: Any) -> int | None:
        """Return the position of `operand` among the arrays at `indices`, which numbers are added to."""
        for position, index in enumerate(indices):
            if self._arrays[index] is operand:
                return position
        if isinstance(operand, np.ndarray) and operand.ndim:
            return None
        self._arrays.append(operand)
        indices.append(len(self._arrays) - 1)
        return len(indices) - 1

    def _look_at(self, args: Iterable[int]) -> None:
        """Compute the signatures of arguments that have none yet."""
        for arg in args:
            if self._signatures[arg] is None:
                self._signatures[arg] = self._signature(arg, self._registers.values[arg])

    def _signature(self, index: int, value: model.EValue) -> object:
        """Return the signature of a value that is not a planned tensor."""
        kind = type(value)
        if kind in _PLAIN:
            return kind, value  # the type distinguishes 1 from True
        if isinstance(value, model.Double):
            return float, value.double_val.hex()  # 0.0 equals -0.0
        if not isinstance(value, model.SerializedTensor) or not (value.sizes and value.is_constant):
            return _ANYTHING
        if value.shape_dynamism is not TensorShapeDynamism.STATIC:
            return _ANYTHING
        tensor = self._registers.initial(index)
        assert isinstance(tensor, Tensor)
        self._arrays[index] = tensor.array
        return "constant", tensor.form


_PLAIN = (model.Int, model.Bool, model.String, type(None))
