"""The cost that the executor adds to numpy: a chain of additions of 4 floats, against the bare numpy calls.

Prints, for chains of several lengths, the time of one `Method.execute` over the time of a Python
loop that makes the same numpy calls, and the time per instruction of both and of an execute that
is traced, measured in turns.

    python benchmarks/bench_dispatch.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

import numpy as np

from etconfig import Method
from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.registry import Kernel
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor import load_method
from etconfig.program import model
from etconfig.program.program import Program
from etconfig.tracing import RecordingTracer

ROUNDS = 400
BYTES = 16


class ChainProgram:
    """Return a program whose method adds its input to itself, then to that sum, and so on."""

    named_data: Mapping[str, memoryview] = MappingProxyType({})

    def __init__(self, length: int) -> None:
        self._length = length

    def external_tensors(self, plan: model.ExecutionPlan) -> Mapping[str, memoryview]:
        return {}

    def plan(self, name: str) -> model.ExecutionPlan:
        tensors = [
            model.SerializedTensor(
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
    """Return the same additions, called in a Python loop over their operands."""
    arrays = [np.ones(4, np.float32) for _ in range(length + 1)]
    calls = [(arrays[index], arrays[0], arrays[index + 1]) for index in range(length)]
    add = np.add

    def run() -> None:
        for a, b, out in calls:
            add(a, b, out)

    return run


def load_chain(length: int, kernels: Mapping[str, Kernel], tracer: RecordingTracer | None = None) -> Method:
    return load_method(cast(Program, ChainProgram(length)), "forward", kernels, {}, tracer=tracer)


def time_ns(run: Callable[[], object]) -> int:
    start = time.perf_counter_ns()
    run()
    return time.perf_counter_ns() - start


def measure(length: int, kernels: Mapping[str, Kernel]) -> tuple[float, ...]:
    """Return nanoseconds per instruction: executed, in the bare loop, traced, loaded; the lower sixth."""
    x = np.ones(4, np.float32)
    tracer = RecordingTracer()
    method, bare, traced = load_chain(length, kernels), bare_loop(length), load_chain(length, kernels, tracer)
    rounds = max(20, min(ROUNDS, 400_000 // length))
    measured = []
    for _ in range(rounds):
        runs = (lambda: method.execute([x]), bare, lambda: traced.execute([x]))
        measured.append([time_ns(run) for run in runs])
        tracer.clear()
    loads = [time_ns(lambda: load_chain(length, kernels)) for _ in range(5)]
    columns = (*zip(*measured, strict=True), loads)
    return tuple(sorted(times)[len(times) // 6] / length for times in columns)


def main() -> None:
    kernels = builtin_kernels()
    print(f"{'length':>7} {'execute/bare':>13} {'execute':>14} {'bare':>14} {'traced':>14} {'load':>14}")
    for length in (1, 30, 1_000, 10_000):
        measured = measure(length, kernels)
        times = " ".join(f"{each:>8.0f} ns/op" for each in measured)
        print(f"{length:>7} {measured[0] / measured[1]:>13.2f} {times}")


if __name__ == "__main__":
    main()
