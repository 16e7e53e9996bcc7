"""Overhead of a delegate over ONNX Runtime's own fastest path from Python, in turns.

    python benchmarks/bench_onnxruntime.py

Needs etconfig-onnxruntime[engine,aot] and onnx. Prints medians of both in us, for a tiny model and for one of
about a millisecond.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from itertools import pairwise

import executorch.exir as exir
import numpy as np
import torch
from etconfig_onnxruntime import OnnxRuntimeOptions, build_session
from etconfig_onnxruntime.aot import onnx_partitioner
from etconfig_onnxruntime.payload import open_payload

import etconfig
from etconfig.program import open_program

ROUNDS = 3000


def network(layers: int) -> torch.nn.Module:
    """Return convolutions with relu, then the mean of each channel."""
    channels = [3, *[32] * layers]
    parts: list[torch.nn.Module] = []
    for before, after in pairwise(channels):
        parts += [torch.nn.Conv2d(before, after, 3, padding=1), torch.nn.ReLU()]
    return torch.nn.Sequential(*parts, torch.nn.AdaptiveAvgPool2d(1)).eval()


def duration_us(function: Callable[[], object]) -> float:
    """Return the time of one call."""
    begin = time.perf_counter_ns()
    function()
    return (time.perf_counter_ns() - begin) / 1000


def measure(name: str, layers: int, size: int) -> None:
    """Print the medians of a delegate and of a bound session on one model."""
    image = torch.rand(1, 3, size, size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(network(layers), (image,))
        edge = exir.to_edge_transform_and_lower(exported, partitioner=[onnx_partitioner()])
    data = bytes(edge.to_executorch().buffer)
    loaded = etconfig.load_program(data)
    options = OnnxRuntimeOptions(intra_op_num_threads=1)
    session = build_session(options, model_of(data))
    binding = session.io_binding()
    array = image.numpy()
    output = np.empty(session.get_outputs()[0].shape, np.float32)
    for bind, value, where in (
        (binding.bind_input, session.get_inputs()[0], array),
        (binding.bind_output, session.get_outputs()[0], output),
    ):
        bind(value.name, "cpu", 0, np.float32, where.shape, where.ctypes.data)
    config = etconfig.resolve(loaded, overrides={"OnnxRuntimeBackend.intra_op_num_threads": 1})
    with loaded.load_method("forward", config.arguments("forward")) as method:
        times: dict[str, list[float]] = {"delegate": [], "bound session": []}
        for _ in range(ROUNDS):
            times["bound session"].append(duration_us(lambda: session.run_with_iobinding(binding)))
            times["delegate"].append(duration_us(lambda: method.execute([array])))
    medians = {way: statistics.median(values) for way, values in times.items()}
    overhead = medians["delegate"] - medians["bound session"]
    shown = ", ".join(f"{way} {value:.1f} us" for way, value in medians.items())
    print(f"{name}: {shown}; overhead {overhead:.1f} us, {100 * overhead / medians['bound session']:.1f} %")


def model_of(data: bytes) -> bytes:
    """Return the ONNX model in the only delegate of a program."""
    import onnxruntime

    program = open_program(data)
    (delegate,) = program.plan("forward").delegates
    return open_payload(program.delegate_data(delegate), onnxruntime.__version__)


if __name__ == "__main__":
    measure("tiny", 1, 8)
    measure("convolutions", 3, 64)
