"""One convolution net and one transformer on every engine, as delegates, and on etconfig's own kernels.

    python benchmarks/bench_engines.py

Needs what `make test-engines` installs. Prints, for each way, the median and the 10th percentile of the wall
time of a call in us, taken in turns, and the largest error against eager PyTorch, as a share of its largest
output. Every engine uses one thread, and OpenVINO float32; other options are the defaults.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from etconfig_onnxruntime.aot import onnx_partitioner
from etconfig_openvino.aot import whole_model_partitioner
from etconfig_torch.aot import torch_partitioner
from etconfig_tvm.aot import tvm_partitioner
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
from executorch.runtime import Runtime
from torch import nn

import etconfig

ROUNDS = 300

Run = Callable[[], np.ndarray]


class Block(nn.Module):
    """Attention with 4 heads, then two linear layers, each with a residual and a norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = 4
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.projections = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return as many numbers as it gets: shape (batch, tokens, width)."""
        batch, tokens, width = x.shape
        normed = self.norms[0](x)
        query, key, value = (
            project(normed).view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
            for project in self.projections[:3]
        )
        weights = torch.softmax(query @ key.transpose(-1, -2) / (width // self.heads) ** 0.5, -1)
        mixed = (weights @ value).transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.projections[3](mixed)
        return x + self.narrow(torch.relu(self.wide(self.norms[1](x))))


def convolution_net() -> tuple[nn.Module, torch.Tensor]:
    """Return five convolutions, three of them with stride 2, and an image of 3x96x96."""
    channels = (3, 16, 32, 64, 64, 64)
    strides = (2, 2, 1, 2, 1)
    parts: list[nn.Module] = []
    for (before, after), stride in zip(pairwise(channels), strides, strict=True):
        parts += [nn.Conv2d(before, after, 3, stride, padding=1), nn.ReLU()]
    return nn.Sequential(*parts), torch.rand(1, 3, 96, 96)


def transformer() -> tuple[nn.Module, torch.Tensor]:
    """Return two blocks of width 128, and 64 tokens."""
    return nn.Sequential(Block(128), Block(128)), torch.rand(1, 64, 128)


DELEGATES: Mapping[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "numpy kernels": (list, ()),
    "ONNX Runtime": (onnx_partitioner, ("OnnxRuntimeBackend.intra_op_num_threads=1",)),
    "OpenVINO, float32": (
        whole_model_partitioner,
        ("OpenvinoBackend.inference_num_threads=1", "OpenvinoBackend.cpu_inference_precision=f32"),
    ),
    "TVM": (tvm_partitioner, ("TvmBackend.num_threads=1",)),
    "PyTorch": (torch_partitioner, ("TorchBackend.num_threads=1",)),
}
"""For each way through etconfig: its partitioner, and the options."""


def programs(module: nn.Module, example: torch.Tensor, partitioner: object) -> bytes:
    """Return the program of the module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(module, (example,))
        parts = partitioner if isinstance(partitioner, list) else [partitioner]
        edge = to_edge_transform_and_lower(exported, partitioner=parts)
        return bytes(edge.to_executorch().buffer)


def through_etconfig(data: bytes, overrides: tuple[str, ...], array: np.ndarray) -> Run:
    """Return a call of the program in etconfig's executor."""
    loaded = etconfig.load_program(data)
    method = loaded.load_method("forward", etconfig.resolve(loaded, overrides=overrides).arguments("forward"))
    return lambda: method.execute([array])[0]


def through_stock_runtime(data: bytes, example: torch.Tensor) -> Run:
    """Return a call of the program in ExecuTorch's own runtime."""
    program = Runtime.get().load_program(data)
    method = program.load_method("forward")
    return lambda kept=program: method.execute([example])[0].numpy()


def times_us(runs: Mapping[str, Run]) -> dict[str, np.ndarray]:
    """Return the wall times of each way, one after the other in each round."""
    times: dict[str, list[int]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            begin = time.perf_counter_ns()
            run()
            times[name].append(time.perf_counter_ns() - begin)
    return {name: np.array(values) / 1000 for name, values in times.items()}


def measure(title: str, module: nn.Module, example: torch.Tensor) -> None:
    """Print a row for each way."""
    module.eval()
    array = example.numpy()
    runs = {
        name: through_etconfig(programs(module, example, make()), options, array)
        for name, (make, options) in DELEGATES.items()
    }
    stock = partial(programs, module, example)
    runs["XNNPACK in executorch.runtime"] = through_stock_runtime(stock(XnnpackPartitioner()), example)
    with torch.no_grad():
        expected = module(example).numpy()
        eager: Run = lambda: module(example).numpy()  # noqa: E731
        runs["PyTorch, eager, no etconfig"] = eager
        errors = {name: np.abs(run() - expected).max() / np.abs(expected).max() for name, run in runs.items()}
        times = times_us(runs)
    print(f"{title}, {'x'.join(map(str, example.shape))}")
    for name, values in times.items():
        print(f"  {name:<31}{np.median(values):>9.0f}{np.percentile(values, 10):>9.0f}{errors[name]:>12.1e}")


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    torch.manual_seed(0)
    torch.set_num_threads(1)
    _unsafe_reset_threadpool(1)
    measure("convolution net", *convolution_net())
    measure("transformer", *transformer())
