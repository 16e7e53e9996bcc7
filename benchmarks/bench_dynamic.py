"""Programs with dynamic shapes, called with one shape, with several in turns, and with a new one each time.

    PYTHONPATH=tools python benchmarks/bench_dynamic.py [--size tiny] [--keep FOLDER] [NAME ...]

Needs what `make test-peers` installs. Prints microseconds of one execute by etconfig and by ExecuTorch's
portable runtime, the least of many rounds in processor time of this thread, and their ratio. `new` is a
shape that the method meets for the first time, after another one; `first` is the first call of a method.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import torch
from architecture_programs import lower
from architectures import SIZES, Example, make
from executorch.runtime import Runtime
from peers import print_settings, use_one_thread

import etconfig

NAMES = ("llama", "t5", "bert")
SECONDS = 5
Inputs = list[np.ndarray]


def shapes_of(example: Example) -> list[Inputs]:
    """Return four lists of inputs: the largest, and those smaller by one, two and three steps."""
    largest, *_, least = ([each.numpy() for each in call] for call in example.calls)
    return [
        [
            array[
                tuple(
                    slice(n - less * step if n != step else n)
                    for n, step in zip(array.shape, small.shape, strict=True)
                )
            ]
            for array, small in zip(largest, least, strict=True)
        ]
        for less in range(4)
    ]


def program_of(name: str, size: str, example: Example, kept: Path | None) -> bytes:
    """Return the exported program, from the file if it was kept there."""
    path = kept and kept / f"{name}-{size}.dynamic.pte"
    if path is not None and path.exists():
        return path.read_bytes()
    program: bytes = lower(example).buffer
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(program)
    return program


def time_of(execute: Callable[[Sequence[object]], object], calls: Sequence[Sequence[object]]) -> float:
    """Return the microseconds of one call."""
    start = time.thread_time_ns()
    for inputs in calls:
        execute(inputs)
    return (time.thread_time_ns() - start) / len(calls) / 1000


def compare(name: str, size: str, kept: Path | None) -> None:
    """Print one row for each way to call a program."""
    example = make(name, size, is_dynamic=True)
    shapes = shapes_of(example)
    data = program_of(name, size, example, kept)
    program, stock_program = etconfig.load_program(data), Runtime.get().load_program(data)
    stock, method = stock_program.load_method("forward"), program.load_method("forward")
    tensors = [[torch.from_numpy(np.ascontiguousarray(array)) for array in inputs] for inputs in shapes]
    ways = {"one shape": slice(1), "four in turns": slice(4), "new": slice(1, 4), "first": slice(1)}
    best = {way: [float("inf"), float("inf")] for way in ways}
    end = time.monotonic() + SECONDS
    for index in count():
        fresh = program.load_method("forward")
        took = {
            "first": time_of(fresh.execute, shapes[ways["first"]]),
            "new": time_of(fresh.execute, shapes[ways["new"]]),
            "four in turns": time_of(method.execute, shapes),
            "one shape": time_of(method.execute, [shapes[0], shapes[0]]),
        }
        for way, taken in ways.items():
            stock.execute(tensors[taken][0])  # or the first call after etconfig's takes longer
            theirs = time_of(stock.execute, tensors[taken])
            best[way] = [*map(min, best[way], (took[way], theirs))]
        if index > 10 and time.monotonic() > end:
            break
    for way, (ours, theirs) in best.items():
        print(f"{name:<8}{size:<8}{way:<16}{ours:>10.0f}{theirs:>10.0f}{ours / theirs:>8.2f}", flush=True)


def main() -> None:
    use_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where exported programs are kept")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # torch's own, while it exports
    print_settings()
    print(f"{'program':<16}{'shapes':<16}{'etconfig':>10}{'portable':>10}{'ratio':>8}")
    for name in options.names:
        compare(name, options.size, options.keep)


if __name__ == "__main__":
    main()
