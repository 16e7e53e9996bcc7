"""Different Methods of one Program run in parallel with the results that they give alone."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from plans import KERNELS, PlanBuilder

from etconfig.numpy_executor import load_method

RUNS = 30
THREADS = 8


def convolving() -> PlanBuilder:
    """A program that uses everything a Method owns: planned memory, scratch, a mutable buffer."""
    builder = PlanBuilder()
    random = np.random.default_rng(3)
    x, state = (
        builder.tensor(1, 3, 8, 8),
        builder.tensor(1, 4, 8, 8, initial=np.zeros((1, 4, 8, 8), np.float32)),
    )
    weight, bias = (
        builder.constant(random.standard_normal((4, 3, 3, 3))),
        builder.constant(random.standard_normal(4)),
    )
    convolved, total, out = (builder.tensor(1, 4, 8, 8) for _ in range(3))
    builder.inputs, builder.outputs = [x], [out]
    ones, zeros = builder.ints(1, 1), builder.ints(0, 0)
    arguments = (x, weight, bias, ones, ones, ones, builder.scalar(False), zeros, builder.scalar(1))
    builder.call("aten::convolution.out", *arguments, convolved, convolved)
    builder.add_(convolved, state, total)
    builder.call("aten::copy_", state, total, builder.scalar(False), state)
    builder.call("aten::_softmax.out", total, builder.scalar(1), builder.scalar(False), out, out)
    return builder


@pytest.fixture
def hectic_switching() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def run_all(method: object, seed: int) -> list[bytes]:
    random = np.random.default_rng(seed)
    inputs = [random.standard_normal((1, 3, 8, 8)).astype(np.float32) for _ in range(RUNS)]
    return [method.execute([each])[0].tobytes() for each in inputs]


@pytest.mark.usefixtures("hectic_switching")
def test_methods_in_threads_equal_methods_alone_bit_for_bit() -> None:
    program = convolving().program()

    def load() -> object:
        return load_method(program, "forward", KERNELS, {})

    alone = [run_all(load(), seed) for seed in range(THREADS)]
    together: dict[int, list[bytes]] = {}
    start = threading.Barrier(THREADS)

    def work(seed: int) -> None:
        start.wait(30)
        together[seed] = run_all(load(), seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[seed] for seed in range(THREADS)] == alone
