"""Programs of dynamic shapes, called with one shape, with several in turns, and each time with another one.

    python benchmarks/bench_dynamic.py

Needs what `make test-peers` installs. Prints microseconds of one execute by etconfig and by ExecuTorch's
portable runtime, the least of many rounds on one thread, and their ratio. `new` loads the method anew for
each round, outside of the time that is taken, so that no shape was met before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import torch
from executorch.runtime import Runtime
from peers import print_settings, use_one_thread

import etconfig

PROGRAMS = Path(__file__).parents[1] / "tests" / "data" / "architectures"
ROUNDS = 40
Inputs = list[np.ndarray]


def inputs_of(program: etconfig.LoadedProgram) -> list[Inputs]:
    """Four lists of inputs: tokens, their number as large as its bound, or smaller by one, two and three."""
    meta = program.metadata("forward")
    bounds = [meta.input_tensor_meta(index).sizes() for index in range(meta.num_inputs())]
    return [[np.zeros((*sizes[:-1], sizes[-1] - less), np.int64) for sizes in bounds] for less in range(4)]


def best_of(execute: Callable[[Sequence[object]], object], calls: Sequence[Sequence[object]]) -> float:
    """Microseconds of one call."""
    start = time.perf_counter()
    for inputs in calls:
        execute(inputs)
    return (time.perf_counter() - start) / len(calls) * 1e6


def compare(name: str) -> None:
    """Print one row for each way to call a program."""
    path = PROGRAMS / f"{name}.pte"
    program = etconfig.load_program(path)
    stock = Runtime.get().load_program(path).load_method("forward")
    shapes = inputs_of(program)
    tensors = [[torch.from_numpy(array) for array in inputs] for inputs in shapes]
    kept = program.load_method("forward")
    for label, count in (("one shape", 1), ("four in turns", 4), ("new", 4)):
        ours, theirs = float("inf"), float("inf")
        for _, is_first in product(range(ROUNDS), (True, False)):
            if is_first:
                method = program.load_method("forward") if label == "new" else kept
                ours = min(ours, best_of(method.execute, shapes[:count]))
            else:
                theirs = min(theirs, best_of(stock.execute, tensors[:count]))
        print(f"{name:<16}{label:<16}{ours:>10.0f}{theirs:>10.0f}{ours / theirs:>8.2f}")


def main() -> None:
    use_one_thread()
    print_settings()
    print(f"{'program':<16}{'shapes':<16}{'etconfig':>10}{'portable':>10}{'ratio':>8}")
    for name in ("llama_dynamic", "t5_dynamic"):
        compare(name)


if __name__ == "__main__":
    main()
