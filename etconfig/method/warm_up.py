"""Warm-up as a part of loading: executes on made-up inputs, after which the state is that after loading."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from etconfig.errors import EtconfigError
from etconfig.kernel.memory import Array, allocate_zeroed
from etconfig.kernel.tensor import DTYPES
from etconfig.method.executor_contract import ExecutorProgram, MethodRequest, RunnableMethod
from etconfig.program import model
from etconfig.program.program import Program


class WarmUpProgram(ExecutorProgram):
    """A program whose next method runs in arenas that can be copied and restored.

    Attributes:
        arenas: The arenas of the method that was loaded last.
    """

    def __init__(self, program: ExecutorProgram, plans: Program) -> None:
        self._program = program
        self._plans = plans
        self.arenas: Sequence[Array] = ()

    def load_method(self, request: MethodRequest) -> RunnableMethod:
        """Load a method in the arenas of the request, and in new ones where it has none."""
        sizes = self._plans.plan(request.name).non_const_buffer_sizes[1:]
        given = request.memory or [None] * len(sizes)
        self.arenas = [
            allocate_zeroed(size) if arena is None else arena
            for size, arena in zip(sizes, given, strict=True)
        ]
        return self._program.load_method(replace(request, memory=tuple(self.arenas)))

    def close(self) -> None:
        """Release the program. Loaded methods stay usable."""
        self._program.close()


def warm_up(
    execute: Callable[[list[Any]], object], plan: model.ExecutionPlan, arenas: Sequence[Array], count: int
) -> tuple[float, ...]:
    """Execute on inputs of zeros, then restore the contents of the arenas.

    Args:
        execute: Runs the method.
        plan: Its plan. Shapes of inputs are the largest that it allows, numbers are as
            exported, or 1.
        arenas: All planned memory of the method.
        count: The number of executes.

    Returns:
        The seconds that each execute took.

    Raises:
        EtconfigError: an execute failed; its help names the warm-up.
    """
    inputs = [_zero(plan.values[index]) for index in plan.inputs]
    before = [arena.copy() for arena in arenas]
    times_s: list[float] = []
    try:
        for _ in range(count):
            start_s = time.perf_counter()
            execute(inputs)
            times_s.append(time.perf_counter() - start_s)
    except EtconfigError as error:
        place = f"this was run {len(times_s) + 1} of {count} of the warm-up, on zeros"
        error.help = place if error.help is None else f"{error.help}; {place}"
        raise
    finally:
        for arena, state in zip(arenas, before, strict=True):
            arena[...] = state
    return tuple(times_s)


def _zero(value: model.EValue) -> Any:
    if isinstance(value, model.SerializedTensor):
        in_memory = [value.sizes[dimension] for dimension in value.dim_order]
        array = np.zeros(in_memory, DTYPES[value.scalar_type])
        return array.transpose(np.argsort(value.dim_order)) if value.dim_order else array
    return 1 if value is None else value[0]
