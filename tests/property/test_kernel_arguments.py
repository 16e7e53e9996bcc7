"""For any arguments that a program passes, a kernel raises only typed errors, soon, and without a warning."""

from __future__ import annotations

import math
import random

import numpy as np
from every import every

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import KernelArgumentError
from etconfig.kernel.memory import Scratch, allocate_zeroed
from etconfig.kernel.registry import ArgumentKind
from etconfig.kernel.tensor import Register, Tensor
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor.compiled_plan import Block, CompiledPlan
from etconfig.program.model import TensorShapeDynamism

KERNELS = builtin_kernels()
CALLS_PER_KERNEL = 25

EXTREME_INTEGERS = [100, -100, 2**31 - 1, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63)]
SMALL_INTEGERS = [0, 1, 1, 2, 2, 3, -1, -2]
NUMBERS = [0.0, 0.5, -1.5, 1e300, math.inf, math.nan, True, False]


class Arguments:
    """Random arguments of the right kinds, and of hardly any other sense."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def of(self, kind: ArgumentKind) -> object:
        types = kind.types
        if type(None) in types and self._chance(0.3):
            return None
        if tuple in types:
            return tuple(self._one(kind.item_types) for _ in range(self._random.choice([0, 1, 2, 2, 3, 4])))
        if Register in types:
            return Register(
                self._random.choice([self._integer(), *NUMBERS, None, "text", (), self._tensor()])
            )
        return self._one(types)

    def _one(self, types: frozenset[type]) -> object:
        if Tensor in types:
            return None if type(None) in types and self._chance(0.3) else self._tensor()
        if str in types:
            return self._random.choice(["none", "tanh", "trunc", "floor", ""])
        if types <= {bool, type(None)}:
            return self._chance(0.5)
        if float in types and self._chance(0.5):
            return float(self._random.choice(NUMBERS))
        return self._integer()

    def _integer(self) -> int:
        return self._random.choice(EXTREME_INTEGERS if self._chance(0.2) else SMALL_INTEGERS)

    def _tensor(self) -> Tensor:
        rank = self._random.choice([0, 1, 1, 2, 2, 3, 4, 4, 5])
        sizes = tuple(self._random.choice([0, 1, 1, 2, 2, 3, 4]) for _ in range(rank))
        scalar_type = self._random.choice([ScalarType.FLOAT] * 6 + [ScalarType.LONG] * 3 + list(ScalarType))
        order = tuple(self._random.sample(range(rank), rank) if self._chance(0.2) else range(rank))
        dynamism = self._random.choice([TensorShapeDynamism.STATIC, TensorShapeDynamism.DYNAMIC_BOUND])
        memory = allocate_zeroed(math.prod(sizes) * scalar_type.itemsize_bytes)
        memory[...] = np.frombuffer(self._random.randbytes(memory.size), np.uint8)
        return Tensor(scalar_type, sizes, order, memory, 0, dynamism)

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability


@every("operator", KERNELS)
def test_a_kernel_runs_or_refuses(operator: str) -> None:
    kernel = KERNELS[operator]
    for call in range(CALLS_PER_KERNEL):
        arguments = Arguments(f"{operator} {call}")
        try:
            step = kernel.bind(operator, Scratch(), [arguments.of(each.kind) for each in kernel.parameters])
            with np.errstate(all="ignore"):
                CompiledPlan("forward", [[Block((step,), (operator,), 1, 1)]], 1).run()
        except KernelArgumentError as error:
            assert error.operator == operator  # noqa: PT017  either outcome is right
