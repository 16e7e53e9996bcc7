"""The cost of options and resources for a Method that is executed without any.

Compares, for each program, the Method with one that is executed as if arguments did not exist: with the same
guards, copies and plan, in the same memory, and nothing else. In each of seven processes they take turns, in
a changing order, and the median of their differences counts. Prints the median of the processes, in ns and
in percent of one execute, with the least and the greatest (between which the median of many processes lies
in 98 of 100 cases), and the same for the Method compared with itself, which shows the noise; then the number
of Python's instructions and function calls in one execute, and how many of them are for arguments.

    PYTHONPATH=tests/support python benchmarks/bench_arguments.py
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from bench_delegates import IdleBackend, load
from plans import adding_plan

import etconfig
from etconfig.errors import MethodClosedError, MethodInUseError
from etconfig.method.method import Method, out_of_memory
from etconfig.numpy_executor.numpy_program import NumpyMethod, _output

DATA = Path(__file__).parents[1] / "tests" / "data"
PROCESSES, ONE_PROCESS = 7, "--one-process"
ROUNDS = 1_000
ROUND_NS = 50_000
"""The approximate time of a measurement, for which the clock is exact enough: executes are repeated."""


class PlainRunnable(NumpyMethod):
    """A `runnable` without a resource for each execute."""

    def __init__(self, runnable: object) -> None:
        vars(self).update(vars(runnable))

    def execute(self, inputs: Sequence[object]) -> list[Any]:  # type: ignore[override]  # without resource
        self._inputs.set(inputs)
        with np.errstate(all="ignore"):
            self._run()
        return [_output(register.value) for register in self._outputs]


class PlainMethod(Method):
    """The same method in the same memory, as if arguments did not exist."""

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
    """Return the time of one execute."""
    start = time.perf_counter_ns()
    for _ in range(repeats):
        execute(inputs)
    return (time.perf_counter_ns() - start) / repeats


def measure(executes: Sequence[Execute], inputs: Sequence[object]) -> np.ndarray:
    """Return the nanoseconds of one execute: a row for each round, a column for each of `executes`."""
    once = min(elapsed_ns(executes[0], inputs, 1) for _ in range(50))
    repeats = max(1, round(ROUND_NS / once))
    orders = list(permutations(range(len(executes))))
    times = np.empty((ROUNDS, len(executes)))
    for row in times:
        for index in random.choice(orders):
            row[index] = elapsed_ns(executes[index], inputs, repeats)
    return times


def count(execute: Execute, inputs: Sequence[object]) -> tuple[int, int]:
    """Return the least number of Python's instructions and of function calls in one execute."""
    counts = [count_once(execute, inputs) for _ in range(5)]
    return min(each for each, _ in counts), min(each for _, each in counts)


def count_once(execute: Execute, inputs: Sequence[object]) -> tuple[int, int]:
    """Return the numbers for a single execute, which threads of a backend may change."""
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


class Comparison(NamedTuple):
    """The result of one process for one program: nanoseconds, then instructions and calls."""

    label: str
    whole: float
    for_arguments: float
    beside_itself: float
    counts: tuple[int, int]
    counts_for_arguments: tuple[int, int]


def compare(label: str, method: Method, inputs: Sequence[object]) -> Comparison:
    """Compare the Method with one without arguments, and with itself."""
    plain = PlainMethod(method)
    times = measure((method.execute, plain.execute, method.execute), inputs)
    differences = np.median(times[:, :1] - times[:, 1:], axis=0)
    counts, fewer = count(method.execute, inputs), count(plain.execute, inputs)
    for_arguments = counts[0] - fewer[0], counts[1] - fewer[1]
    return Comparison(label, float(np.median(times)), *map(float, differences), counts, for_arguments)


def compare_file(label: str, path: Path) -> Comparison:
    """Compare the same for a program with one input tensor of floats."""
    program = etconfig.load_program(path)
    sizes = program.metadata("forward").input_tensor_meta(0).sizes()
    return compare(label, program.load_method("forward"), [np.zeros(sizes, np.float32)])


def compare_all() -> list[Comparison]:
    """Compare small programs, without and with delegates, and real models."""
    x = np.ones(4, np.float32)
    return [
        compare("one addition of 4 floats", adding_plan(4).load(), [x, x]),
        compare("a delegate that does nothing", load(IdleBackend(), 1), [x]),
        compare("10 delegates that do nothing", load(IdleBackend(), 10), [x]),
        compare_file("digits, delegated", DATA / "digits" / "digits.pte"),
        compare_file("digits", DATA / "digits" / "digits_portable.pte"),
        compare_file("MobileNetV2, tiny", DATA / "architectures" / "mobilenet_v2.pte"),
    ]


def print_differences(label: str, name: str, whole: float, differences: Sequence[float]) -> None:
    least, *_, greatest = ranked = sorted(differences)
    found = (ranked[len(ranked) // 2], least, greatest)
    in_ns = "{:>9.1f} [{:>7.1f}, {:>7.1f}]".format(*found)
    in_parts = "{:>8.2f} [{:>5.2f}, {:>5.2f}]".format(*(100 * each / whole for each in found))
    print(f"{label:<30}{name:<19}{whole / 1000:>8.2f}{in_ns}{in_parts}", flush=True)


def main() -> None:
    command = [sys.executable, __file__, ONE_PROCESS]
    texts = [subprocess.run(command, check=True, capture_output=True).stdout for _ in range(PROCESSES)]
    print(f"{'Method':<30}{'compared with':<19}{'us':>8}{'difference, ns':>28}{'difference, %':>24}")
    for rows in zip(*map(json.loads, texts), strict=True):
        found = [Comparison(*row) for row in rows]
        whole = sorted(each.whole for each in found)[len(found) // 2]
        label, counts, for_arguments = found[0].label, found[0].counts, found[0].counts_for_arguments
        print_differences(label, "without arguments", whole, [each.for_arguments for each in found])
        print_differences(label, "itself", whole, [each.beside_itself for each in found])
        text = "of {} instructions and {} calls, {} and {} are for arguments"
        print(f"{'':<30}{text.format(*counts, *for_arguments)}")


if __name__ == "__main__":
    if sys.argv[1:] == [ONE_PROCESS]:
        print(json.dumps(compare_all()))
    else:
        main()
