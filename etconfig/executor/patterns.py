"""Steps of like instructions: made once by the kernel, then again from a pattern of what it made.

A large program holds thousands of instructions that differ only in where their tensors lie. What
its kernel made of the first one is a function with operands bound to it; for the others, the
operands are replaced by the arrays of their own tensors, without asking the kernel again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from etconfig.executor.memory import Array
from etconfig.executor.registry import Step
from etconfig.executor.tensor import Tensor
from etconfig.executor.values import Registers
from etconfig.program import model
from etconfig.program.call_columns import ColumnarInstructions
from etconfig.program.model import TensorShapeDynamism

Signature: TypeAlias = "object | None"
"""What a step depends on in one argument, apart from its address; None if nobody has asked yet."""

_MOST_KINDS = 2**62
"""As many kinds of calls have numbers that numpy counts with."""

_ANYTHING = object()
"""The signature of an argument on which a step may depend in any way."""


class _Pattern(NamedTuple):
    """How a step is made: `function(*operands)`, the last of them by name.

    Attributes:
        function: What the step calls.
        operands: Where each operand is in the arguments + `extra`.
        names: Those of the last operands that are given by name.
        extra: Indices of arrays that all steps of the pattern share, such as numbers.
        waiting: The instructions whose steps are still to be made, counted in what is under way.
    """

    function: Callable[..., object]
    operands: tuple[int, ...]
    names: tuple[str, ...]
    extra: tuple[int, ...]
    waiting: list[int]


class StepPatterns:
    """The patterns of one plan: of instructions with one output, whose kernels are uniform (see `Kernel`)."""

    def __init__(self, registers: Registers, varying: frozenset[int]) -> None:
        """Patterns over `registers`, of which `varying` ones may be anything."""
        self._registers = registers
        # by operator, then by the arguments' signatures
        self._patterns: dict[int, dict[object, _Pattern]] = {}
        self._arrays = [*registers.arrays]
        self._signatures: list[Signature] = [*registers.values.spread(_signatures_of_different(registers))]
        self._varying = varying
        for index in varying:
            self._signatures[index] = _ANYTHING

    def steps(
        self,
        instructions: Sequence[model.Instruction],
        kinds: Sequence[int],
        start: int,
        make: Callable[[model.Instruction, int], Step],
    ) -> list[Step]:
        """The steps of instructions from index `start` on: `make` gives those without a pattern.

        `kinds` are those of the same instructions. `make` is called in order, with an instruction and its
        index; it may `learn` and `update`. The other steps are made in the end: of what is updated, no
        instruction before has made use.
        """
        steps: list[Any] = [None] * len(instructions)
        wait_by_kind: dict[int, Callable[[int], None]] = {}
        for position, kind in enumerate(kinds):
            wait = wait_by_kind.get(kind)
            if wait is None:
                instruction = instructions[position]
                pattern = self._pattern(instruction)
                if pattern is None:
                    steps[position] = make(instruction, start + position)
                    continue
                wait = pattern.waiting.append
                if kind:
                    wait_by_kind[kind] = wait
            wait(position)
        for pattern in chain.from_iterable(known.values() for known in self._patterns.values()):
            if pattern.waiting:
                made = self._made(pattern, map(instructions.__getitem__, pattern.waiting))
                for position, step in zip(pattern.waiting, made, strict=False):
                    steps[position] = step
                pattern.waiting.clear()
        return steps

    def kinds(self, instructions: tuple[model.Instruction, ...]) -> Sequence[int]:
        """A number for each instruction: those that share one have one pattern, if any; 0 tells nothing."""
        if not isinstance(instructions, ColumnarInstructions):
            return [0] * len(instructions)
        kinds = np.zeros(len(instructions), np.intp)
        codes = self._codes()
        radix = int(codes.max(initial=0)) + 1
        for places, op_index, args in instructions.calls:
            operators = int(op_index.max()) + 1
            if args.shape[1] < 3 or operators * radix ** args.shape[1] >= _MOST_KINDS:
                continue
            signatures = codes[args]
            mixed = op_index.astype(np.intp)
            for column in signatures.T:
                mixed = mixed * radix + column
            is_known = (args[:, -1] == args[:, -2]) & signatures.all(axis=1)
            kinds[places] = np.where(is_known, mixed + 1, 0)
        numbers: list[int] = kinds.tolist()
        return numbers

    def _codes(self) -> Array:
        """A number for each value: those that share one have equal signatures; 0 if none is known yet."""
        numbers: dict[Signature, int] = {None: 0}
        different = _signatures_of_different(self._registers)
        codes = np.array([numbers.setdefault(each, len(numbers)) for each in different], np.intp)
        places = self._registers.values.places
        spread: Array = codes[np.fromiter(places, np.intp, len(places))]
        spread[[*self._varying]] = 0
        return spread

    def _pattern(self, instruction: model.Instruction) -> _Pattern | None:
        """The pattern of an instruction, if there is one."""
        if type(instruction) is not model.KernelCall:
            return None
        op_index, args = instruction
        known = self._patterns.get(op_index)
        if known is None or len(args) < 3 or args[-1] != args[-2]:
            return None
        pattern = known.get(itemgetter(*args)(self._signatures))
        if pattern is None and self._look_at(args):
            pattern = known.get(itemgetter(*args)(self._signatures))
        return pattern

    def _made(self, pattern: _Pattern, calls: Iterable[Any]) -> Iterator[Step]:
        """The steps of kernel calls; without end if all of the operands are shared."""
        arguments = [*map(itemgetter(1), calls)]
        arity = len(arguments[0])
        operands = [
            map(self._arrays.__getitem__, map(itemgetter(place), arguments))
            if place < arity
            else repeat(self._arrays[pattern.extra[place - arity]])
            for place in pattern.operands
        ]
        if not pattern.names:
            return map(partial, repeat(pattern.function), *operands)
        count = len(operands) - len(pattern.names)
        return (
            partial(pattern.function, *each[:count], **dict(zip(pattern.names, each[count:], strict=True)))
            for each in zip(*operands, strict=False)
        )

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
        if not (type(step) is partial and len(step.args) > 1 and len(args) > 2 and args[-1] == args[-2]):
            return
        self._look_at(args)
        signatures = itemgetter(*args)(self._signatures)
        if _ANYTHING in signatures or not self._are_distinct(args[:-1]):
            return
        indices = list(args)
        operands = (*step.args, *step.keywords.values())
        found = [self._position(indices, operand) for operand in operands]
        positions = tuple([position for position in found if position is not None])
        if len(positions) == len(operands):
            names, extra = tuple(step.keywords), tuple(indices[len(args) :])
            known = self._patterns.setdefault(op_index, {})
            known[signatures] = _Pattern(step.func, positions, names, extra, [])

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

    def _look_at(self, args: Sequence[int]) -> bool:
        """Find the signatures of arguments that nobody asked for yet; False if there are none."""
        new = [arg for arg in args if self._signatures[arg] is None]
        for arg in new:
            self._signatures[arg] = self._signature(arg, self._registers.values[arg])
        return bool(new)

    def _signature(self, index: int, value: model.EValue) -> object:
        """What a step may depend on in a value that is no planned tensor."""
        kind = type(value)
        if kind in _PLAIN:
            return kind, value  # the types tell an integer from a boolean
        if isinstance(value, model.Double):
            return float, value.double_val.hex()  # 0.0 equals -0.0
        if not isinstance(value, model.Tensor) or not (value.sizes and value.is_constant):
            return _ANYTHING
        if value.shape_dynamism is not TensorShapeDynamism.STATIC:
            return _ANYTHING
        tensor = self._registers.initial(index)
        assert isinstance(tensor, Tensor)
        self._arrays[index] = tensor.array
        return "constant", tensor.form


def _signatures_of_different(registers: Registers) -> list[Signature]:
    """The signatures of planned tensors and of integers, for each value that differs."""
    return [
        value if form is None and type(value) is model.Int else form
        for form, value in zip(registers.different_forms, registers.values.distinct, strict=True)
    ]


_PLAIN = (model.Bool, model.String, type(None))
