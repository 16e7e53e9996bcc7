"""What options and resources cost a Method that is executed without any.

For each program, the Method as it is, and the same one executed as if arguments did not exist: the same
guards, copies and plan, in the same memory, and nothing else. A round takes each of them once, in an order
that changes. Printed is the median of their differences, in ns and in per cent of one execute, with its
95 % confidence interval (by ranks, which assumes no distribution), and the same for the Method beside
itself, which tells what such a number is worth; then how many of Python's instructions one execute runs,
how many functions it calls, and what of both is for arguments.

    PYTHONPATH=tests/support python benchmarks/bench_arguments.py
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from bench_delegates import IdleBackend, load
from plans import adding_plan

import etconfig
from etconfig.errors import MethodClosedError, MethodInUseError
from etconfig.execution.method import Method, out_of_memory
from etconfig.executor.method import NumpyMethod, _output

DATA = Path(__file__).parents[1] / "tests" / "data"
ROUNDS = 6_000
ROUND_NS = 50_000
"""Executes are repeated until a measurement takes about so long, for which the clock is exact enough."""


class PlainRunnable(NumpyMethod):
    """What `runnable` is, without a resource for each execute."""

    def __init__(self, runnable: object) -> None:
        vars(self).update(vars(runnable))

    def execute(self, inputs: Sequence[object]) -> list[Any]:  # type: ignore[override]  # without resource
        self._inputs.set(inputs)
        with np.errstate(all="ignore"):
            self._run()
        return [_output(register.value) for register in self._outputs]


class PlainMethod(Method):
    """What `method` is, in the same memory, as if arguments did not exist."""

    def __init__(self, method: Method) -> None:
        vars(self).update(vars(method))
        self._plain = PlainRunnable(method._runnable)

    def execute(self, inputs: Sequence[object] = ()) -> list[Any]:  # type: ignore[override]  # without resource
        if not self._lock.acquire(blocking=False):
            raise MethodInUseError(method=self.name)
        try:
            if self._runnable is None:
                raise MethodClosedError(method=self.name)
            return self._plain.execute(inputs)
        except MemoryError as error:
            raise out_of_memory(self.name, error) from error
        finally:
            self._lock.release()


Execute = Callable[[Sequence[object]], object]


def elapsed_ns(execute: Execute, inputs: Sequence[object], repeats: int) -> float:
    """Of one execute."""
    start = time.perf_counter_ns()
    for _ in range(repeats):
        execute(inputs)
    return (time.perf_counter_ns() - start) / repeats


def measure(executes: Sequence[Execute], inputs: Sequence[object]) -> np.ndarray:
    """Nanoseconds of one execute: a row for each round, a column for each of `executes`."""
    once = min(elapsed_ns(executes[0], inputs, 1) for _ in range(50))
    repeats = max(1, round(ROUND_NS / once))
    orders = list(permutations(range(len(executes))))
    times = np.empty((ROUNDS, len(executes)))
    for row in times:
        for index in random.choice(orders):
            row[index] = elapsed_ns(executes[index], inputs, repeats)
    return times


def median_and_bounds(values: np.ndarray) -> tuple[float, float, float]:
    """The median, and its 95 % confidence interval."""
    ranked = np.sort(values)
    middle, spread = len(ranked) / 2, 1.96 * math.sqrt(len(ranked)) / 2
    return float(np.median(ranked)), ranked[int(middle - spread)], ranked[math.ceil(middle + spread)]


def count(execute: Execute, inputs: Sequence[object]) -> tuple[int, int]:
    """How many of Python's instructions one execute runs, and how many functions it calls; at least."""
    counts = [count_once(execute, inputs) for _ in range(5)]
    return min(each for each, _ in counts), min(each for _, each in counts)


def count_once(execute: Execute, inputs: Sequence[object]) -> tuple[int, int]:
    """The same, of a single execute: threads of a backend may change it."""
    instructions = calls = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal instructions
        frame.f_trace_opcodes = True
        instructions += event == "opcode"
        return trace

    def profile(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    for install, watch in ((sys.settrace, trace), (sys.setprofile, profile)):
        install(watch)  # type: ignore[operator]  # one of the two
        try:
            execute(inputs)
        finally:
            install(None)  # type: ignore[operator]
    return instructions, calls - 1  # the last call ends the profile


def compare(label: str, method: Method, inputs: Sequence[object]) -> None:
    """Print what there is to say of one program."""
    plain = PlainMethod(method)
    times = measure((method.execute, plain.execute, method.execute), inputs)
    for name, column in (("without arguments", 1), ("itself", 2)):
        bounds = median_and_bounds(times[:, 0] - times[:, column])
        whole = float(np.median(times[:, column]))
        in_ns = "{:>9.1f} [{:>7.1f}, {:>7.1f}]".format(*bounds)
        in_parts = "{:>8.2f} [{:>5.2f}, {:>5.2f}]".format(*(100 * each / whole for each in bounds))
        print(f"{label:<30}{name:<19}{whole / 1000:>8.2f}{in_ns}{in_parts}", flush=True)
    instructions, calls = count(method.execute, inputs)
    fewer_instructions, fewer_calls = count(plain.execute, inputs)
    print(
        f"{'':<30}of {instructions} instructions and {calls} calls,"
        f" {instructions - fewer_instructions} and {calls - fewer_calls} are for arguments"
    )


def compare_file(label: str, path: Path) -> None:
    """The same of a program that takes one tensor of floats."""
    program = etconfig.load_program(path)
    sizes = program.metadata("forward").input_tensor_meta(0).sizes()
    compare(label, program.load_method("forward"), [np.zeros(sizes, np.float32)])


def main() -> None:
    x = np.ones(4, np.float32)
    print(f"{'Method':<30}{'beside':<19}{'us':>8}{'difference, ns':>28}{'difference, %':>24}")
    compare("one addition of 4 floats", adding_plan(4).load(), [x, x])
    compare("a delegate that does nothing", load(IdleBackend(), 1), [x])
    compare("10 delegates that do nothing", load(IdleBackend(), 10), [x])
    compare_file("digits, delegated", DATA / "digits" / "digits.pte")
    compare_file("digits", DATA / "digits" / "digits_portable.pte")
    compare_file("MobileNetV2, tiny", DATA / "architectures" / "mobilenet_v2.pte")


if __name__ == "__main__":
    main()
