"""Three networks on every engine: as a delegate, and alone by the fastest call from Python.

    python benchmarks/bench_engines.py

Needs what `make test-engines` installs. Prints, for each way, the median and the 10th percentile of the wall
time of a call in us, taken in turns, and the largest error against eager PyTorch, as a share of its largest
output. Every engine uses one thread, and OpenVINO float32; other options are the defaults.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import etconfig_onnxruntime.payload as onnxruntime_payload
import etconfig_openvino.payload as openvino_payload
import etconfig_torch.plugin as torch_plugin
import etconfig_tvm.payload as tvm_payload
import numpy as np
import onnxruntime
import openvino
import torch
import tvm_ffi
from etconfig_onnxruntime import OnnxRuntimeOptions, build_session
from etconfig_onnxruntime.aot import onnx_partitioner
from etconfig_openvino.aot import whole_model_partitioner
from etconfig_openvino.options import OpenvinoOptions
from etconfig_torch.aot import torch_partitioner
from etconfig_torch.options import TorchOptions
from etconfig_tvm.aot import CompileSettings, tvm_partitioner
from etconfig_tvm.arrays import aligned
from etconfig_tvm.engine import build as build_tvm
from etconfig_tvm.options import TvmOptions
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
from executorch.runtime import Runtime
from torch import nn

import etconfig
from etconfig.program import open_program

ROUNDS = 300
SECONDS_EACH = 10.0
"""The time limit of one way; afterwards it skips the remaining rounds."""

Run = Callable[[], object]


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


def tiny_net() -> tuple[nn.Module, torch.Tensor]:
    """Return one convolution, and an image of 3x8x8."""
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()), torch.rand(1, 3, 8, 8)


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
    "etconfig's own kernels": (list, ()),
    "ONNX Runtime": (onnx_partitioner, ("OnnxRuntimeBackend.intra_op_num_threads=1",)),
    "OpenVINO, float32": (
        whole_model_partitioner,
        ("OpenvinoBackend.inference_num_threads=1", "OpenvinoBackend.cpu_inference_precision=f32"),
    ),
    "TVM": (tvm_partitioner, ("TvmBackend.num_threads=1",)),
    "TVM, plain loops": (
        lambda: tvm_partitioner(settings=CompileSettings(schedule="none")),
        ("TvmBackend.num_threads=1",),
    ),
    "PyTorch": (torch_partitioner, ("TorchBackend.num_threads=1",)),
}
"""For each way through etconfig: its partitioner, and the options."""


def onnxruntime_alone(payload: memoryview, array: np.ndarray) -> Run:
    """Return a call of a session whose input and output are bound."""
    model = onnxruntime_payload.open_payload(payload, onnxruntime.__version__)
    session = build_session(OnnxRuntimeOptions(intra_op_num_threads=1), model)
    output = np.empty(session.get_outputs()[0].shape, np.float32)
    binding = session.io_binding()
    for bind, value, memory in (
        (binding.bind_input, session.get_inputs()[0], array),
        (binding.bind_output, session.get_outputs()[0], output),
    ):
        bind(value.name, "cpu", 0, np.float32, memory.shape, memory.ctypes.data)
    return lambda: (session.run_with_iobinding(binding), array, output)


def openvino_alone(payload: memoryview, array: np.ndarray) -> Run:
    """Return a call of an inference request whose input is bound."""
    options = OpenvinoOptions(inference_num_threads=1, cpu_inference_precision="f32")
    compiled = openvino_payload.load(options, payload, openvino.Core())
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(array, shared_memory=True))
    return lambda: (request.infer(), array)


def tvm_alone(payload: memoryview, array: np.ndarray) -> Run:
    """Return a call of the virtual machine with a tensor."""
    library = tvm_payload.open_payload(payload, None)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.so"
        path.write_bytes(library)
        session: Any = build_tvm(TvmOptions(num_threads=1), path)
    main = session["main"]
    tensor = tvm_ffi.from_dlpack(aligned(array))
    return lambda: (main(tensor), session)


def torch_alone(module: nn.Module, example: torch.Tensor) -> Run:
    """Return a call of the module that the plugin builds."""
    built: Any = torch_plugin.build(TorchOptions(num_threads=1), torch.export.export(module, (example,)))
    return lambda: built(example)


ALONE = {
    "ONNX Runtime": onnxruntime_alone,
    "OpenVINO, float32": openvino_alone,
    "TVM": tvm_alone,
}
"""The fastest call of each engine whose payload is a model of its own."""


def program_of(module: nn.Module, example: torch.Tensor, partitioner: object) -> bytes:
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


def payload_of(data: bytes) -> memoryview:
    """Return the payload of the only delegate of a program."""
    program = open_program(data)
    (delegate,) = program.plan("forward").delegates
    return program.delegate_data(delegate)


def times_us(runs: Mapping[str, Run]) -> dict[str, np.ndarray]:
    """Return the wall times of each way, one after the other in each round."""
    times: dict[str, list[int]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            if sum(times[name]) < SECONDS_EACH * 1e9:
                begin = time.perf_counter_ns()
                run()
                times[name].append(time.perf_counter_ns() - begin)
    return {name: np.array(values) / 1000 for name, values in times.items()}


def measure(title: str, module: nn.Module, example: torch.Tensor) -> None:
    """Print a row for each way."""
    module.eval()
    array = aligned(example.numpy())
    programs = {name: program_of(module, example, make()) for name, (make, _) in DELEGATES.items()}
    runs = {name: through_etconfig(programs[name], DELEGATES[name][1], array) for name in programs}
    stock = program_of(module, example, XnnpackPartitioner())
    runs["XNNPACK in executorch.runtime"] = through_stock_runtime(stock, example)
    with torch.no_grad():
        expected = module(example).numpy()
        errors = {
            name: np.abs(np.asarray(run()) - expected).max() / np.abs(expected).max()
            for name, run in runs.items()
        }
        alone = {name: make(payload_of(programs[name]), array) for name, make in ALONE.items()}
        alone["PyTorch"] = torch_alone(module, example)
        runs |= {f"{name}, alone": run for name, run in alone.items()}
        runs["PyTorch, eager"] = lambda: module(example)
        times = times_us(runs)
    print(f"{title}, {'x'.join(map(str, example.shape))}")
    for name, values in times.items():
        error = f"{errors[name]:>12.1e}" if name in errors else ""
        print(f"  {name:<31}{np.median(values):>11.1f}{np.percentile(values, 10):>11.1f}{error}")


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    torch.manual_seed(0)
    torch.set_num_threads(1)
    _unsafe_reset_threadpool(1)
    measure("tiny net", *tiny_net())
    measure("convolution net", *convolution_net())
    measure("transformer", *transformer())
