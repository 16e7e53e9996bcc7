"""The time of `execute` of methods loaded without and with arguments, and of calls with more than inputs.

    .venv-peers/bin/python benchmarks/bench_calls.py

Prints microseconds of processor time on one thread for each executor: the least of many rounds, in turns.
`digits` delegates, to backends with threads of their own. "again" is another method without arguments:
its difference from the first is the noise. Both kinds of methods must have the same options.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import etconfig
from etconfig.analysis import generate_inputs

ROOT = Path(__file__).parents[1]
PROGRAMS = ("programs/add.pte", "programs/lists.pte", "programs/mutable_buffers.pte", "digits/digits.pte")
CALLS = 200
ROUNDS = 60


def least_us(works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least processor time of one call of each, measured in turns."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for name, work in works.items():
            start_ns = time.thread_time_ns()
            for _ in range(CALLS):
                work()
            least[name] = min(least[name], (time.thread_time_ns() - start_ns) / CALLS / 1000)
    return least


def calls(path: Path, executor: str) -> dict[str, Callable[[], object]]:
    """Return the calls to compare, on methods of one program."""
    program = etconfig.load_program(path, executor=executor)
    name = program.method_names[-1]
    arguments = etconfig.resolve(program).arguments(name)
    without, again = program.load_method(name), program.load_method(name)
    with_arguments = program.load_method(name, arguments)
    for delegate in program.program.plan(name).delegates:
        assert without.options(delegate.id) == with_arguments.options(delegate.id)
    inputs = generate_inputs(without.metadata, 0)
    outputs: list[Any] = [
        np.empty_like(each) if isinstance(each, np.ndarray) else None for each in without.execute(inputs)
    ]
    token = etconfig.CancelToken()
    return {
        "no arguments": lambda: without.execute(inputs),
        "again": lambda: again.execute(inputs),
        "arguments": lambda: with_arguments.execute(inputs),
        "outputs=": lambda: without.execute(inputs, outputs=outputs),
        "timeout=": lambda: without.execute(inputs, timeout=60),
        "cancel=": lambda: without.execute(inputs, cancel=token),
    }


def main() -> None:
    for executor in ("numpy", "executorch"):
        for index, program in enumerate(PROGRAMS):
            measured = least_us(calls(ROOT / "tests/data" / program, executor))
            if not index:
                print(f"{executor:<22}{''.join(f'{each:>14}' for each in measured)}")
            print(f"{Path(program).stem:<22}{''.join(f'{each:>14.2f}' for each in measured.values())}")


if __name__ == "__main__":
    main()
