"""What the executor adds to numpy: a chain of additions of 4 floats, against the bare numpy calls.

Prints, for chains of several lengths, the time of one `Method.execute` over the time of a Python
loop that makes the same numpy calls, and the time per instruction of both, measured in turns.

    python benchmarks/bench_dispatch.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

import numpy as np

from etconfig.executor import KernelRegistry, Method, load_method
from etconfig.kernels import builtin_kernels
from etconfig.program import Program, model
from etconfig.values import ScalarType

ROUNDS = 400
BYTES = 16


class ChainProgram:
    """A program whose method adds its input to itself, and that again to the input, and so on."""

    named_data: Mapping[str, memoryview] = MappingProxyType({})

    def __init__(self, length: int) -> None:
        self._length = length

    def external_tensors(self, plan: model.ExecutionPlan) -> Mapping[str, memoryview]:
        return {}

    def plan(self, name: str) -> model.ExecutionPlan:
        tensors = [
            model.Tensor(
                ScalarType.FLOAT,
                (4,),
                (0,),
                0,
                model.AllocationDetails(1, index * BYTES),
                model.TensorShapeDynamism.STATIC,
            )
            for index in range(self._length + 1)
        ]
        alpha = len(tensors)
        calls = [
            model.KernelCall(0, (index, 0, alpha, index + 1, index + 1)) for index in range(self._length)
        ]
        return model.ExecutionPlan(
            name,
            (*tensors, model.Int(1)),
            (0,),
            (self._length,),
            (model.Chain(tuple(calls)),),
            (model.Operator("aten::add", "out"),),
            (),
            (0, BYTES * len(tensors)),
        )


def bare_loop(length: int) -> Callable[[], None]:
    """The same additions, called by a Python loop over their operands."""
    arrays = [np.ones(4, np.float32) for _ in range(length + 1)]
    calls = [(arrays[index], arrays[0], arrays[index + 1]) for index in range(length)]
    add = np.add

    def run() -> None:
        for a, b, out in calls:
            add(a, b, out)

    return run


def load_chain(length: int, kernels: KernelRegistry) -> Method:
    return load_method(cast(Program, ChainProgram(length)), "forward", kernels, {})


def time_ns(run: Callable[[], object]) -> int:
    start = time.perf_counter_ns()
    run()
    return time.perf_counter_ns() - start


def measure(length: int, kernels: KernelRegistry) -> tuple[float, float, float]:
    """Nanoseconds per instruction: of an execute, of the bare loop, of loading; the lower sixth of all."""
    x = np.ones(4, np.float32)
    method, bare = load_chain(length, kernels), bare_loop(length)
    rounds = max(20, min(ROUNDS, 400_000 // length))
    pairs = [(time_ns(lambda: method.execute([x])), time_ns(bare)) for _ in range(rounds)]
    loads = [time_ns(lambda: load_chain(length, kernels)) for _ in range(5)]
    executed, plain, loaded = (
        sorted(times)[len(times) // 6] / length for times in (*zip(*pairs, strict=True), loads)
    )
    return executed, plain, loaded


def main() -> None:
    kernels = builtin_kernels()
    print(f"{'length':>7} {'execute/bare':>13} {'execute':>14} {'bare':>14} {'load':>14}")
    for length in (1, 30, 1_000, 10_000):
        executed, plain, loaded = measure(length, kernels)
        times = " ".join(f"{each:>8.0f} ns/op" for each in (executed, plain, loaded))
        print(f"{length:>7} {executed / plain:>13.2f} {times}")


if __name__ == "__main__":
    main()
