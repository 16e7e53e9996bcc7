"""The estimated memory of programs, beside the measured one.

    python benchmarks/bench_need.py [BACKEND]...

Needs what `make test-engines` and `make test-peers` install, on Linux. The networks of `bench_memory.py` and
`bench_engines.py`, and larger ones, delegated to each backend, and not delegated. Each row is a fresh process
that has run a small program of the same kind before, and a product of matrices, so that libraries and
their buffers do not count; nor does the input. Printed are the estimate of `etconfig.memory_need`, the growth
of the peak of the resident memory over loading and two executes, both in MiB, and the error of the estimate.
Below 20 MiB it says little: the interpreter's objects and the heap's free memory come to some MiB. The
declared sizes were not fitted to the last three networks.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import etconfig

_MIB = 2**20


def partitioner_of(backend: str) -> list[Any]:
    """Return the partitioner that delegates everything to a backend; none for an executor's own kernels."""
    if backend == "XnnpackBackend":
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

        return [XnnpackPartitioner()]
    if backend == "OnnxRuntimeBackend":
        from etconfig_onnxruntime.aot import onnx_partitioner

        return [onnx_partitioner()]
    if backend == "OpenvinoBackend":
        from etconfig_openvino.aot import whole_model_partitioner

        return [whole_model_partitioner()]
    if backend.startswith("Reference"):
        from etconfig_reference.aot import ReferencePartitioner

        return [ReferencePartitioner({"": backend})]
    return []


WAYS = {
    "XnnpackBackend": "executorch",
    "OnnxRuntimeBackend": "numpy",
    "OpenvinoBackend": "numpy",
    "ReferenceCpuBackend": "numpy",
    "ReferenceNpuBackend": "numpy",
    "numpy": "numpy",
    "executorch": "executorch",
}
"""The executor that runs each backend, or that runs a program without delegates."""


def networks() -> dict[str, tuple[Any, Any]]:
    """Return the networks by name, the small one first, each with an example."""
    import torch
    from engine_networks import NETWORKS, Block
    from torch import nn

    def convolutions(channels: int, size: int, count: int) -> tuple[nn.Module, torch.Tensor]:
        layers = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(count))
        parts = (part for layer in layers for part in (layer, nn.ReLU()))
        return nn.Sequential(*parts), torch.rand(1, channels, size, size)

    def separable(channels: int, size: int, count: int) -> tuple[nn.Module, torch.Tensor]:
        parts: list[nn.Module] = []
        for _ in range(count):
            parts += [nn.Conv2d(channels, channels, 3, padding=1, groups=channels), nn.ReLU()]
            parts += [nn.Conv2d(channels, channels, 1), nn.ReLU()]
        return nn.Sequential(*parts), torch.rand(1, channels, size, size)

    def pyramid() -> tuple[nn.Module, torch.Tensor]:
        parts = [nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        for before in (64, 128, 256):
            parts += [nn.Conv2d(before, 2 * before, 3, 2, 1), nn.ReLU()]
        parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 4000)]
        return nn.Sequential(*parts), torch.rand(1, 3, 256, 256)

    torch.manual_seed(0)
    return {
        "small": (nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)), torch.ones(1, 8)),
        **{name: make() for name, make in NETWORKS.items()},
        "8 linear, 2048": (nn.Sequential(*(nn.Linear(2048, 2048) for _ in range(8))), torch.ones(1, 2048)),
        "4 conv, 512x14x14": convolutions(512, 14, 4),
        "6 conv, 64x224x224": convolutions(64, 224, 6),
        "6 blocks, 512": (nn.Sequential(*(Block(512) for _ in range(6))), torch.rand(1, 64, 512)),
        "8 separable, 96x112x112": separable(96, 112, 8),
        "2 blocks, 768": (nn.Sequential(*(Block(768) for _ in range(2))), torch.rand(1, 128, 768)),
        "pyramid, 256x256": pyramid(),
    }


def export(path: Path, module: Any, example: Any, backend: str) -> None:
    """Write a program."""
    import torch
    from executorch.exir import to_edge_transform_and_lower

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(module.eval(), (example,))
        edge = to_edge_transform_and_lower(exported, partitioner=partitioner_of(backend))
        path.write_bytes(edge.to_executorch().buffer)


def status_bytes(field: str) -> int:
    """Return a field of the process's status that is in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def example_of(path: str) -> list[np.ndarray]:
    """Return inputs for a program."""
    with etconfig.load_program(path) as program:
        return [np.ones(program.metadata("forward").input_tensor_meta(0).sizes(), np.float32)]


def run(path: str, executor: str, inputs: list[np.ndarray]) -> None:
    """Load a program, and execute it twice."""
    with etconfig.load_program(path, executor=executor) as program:
        method = program.load_method("forward", etconfig.resolve(program).arguments("forward"))
        for _ in range(2):
            method.execute(inputs)
        method.close()


def measure(name: str, backend: str, executor: str, small: str, path: str) -> None:
    """Print one row; runs in a fresh process."""
    run(small, executor, example_of(small))
    np.ones((64, 4096), np.float32) @ np.ones((4096, 4096), np.float32).T  # BLAS has buffers of its own
    inputs = example_of(path)
    with etconfig.load_program(path, executor=executor) as program:
        need = etconfig.memory_need(program, etconfig.resolve(program))
    gc.collect()
    start = status_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # begin the peak anew
    run(path, executor, inputs)
    measured, estimate = status_bytes("VmHWM") - start, need.peak.size_bytes
    error = f"{(estimate - measured) / measured:+.0%}"
    print(f"| {name} | {backend} | {estimate / _MIB:.1f} | {measured / _MIB:.1f} | {error} |", flush=True)


def each_way(names: list[str], act: Callable[[str, str], None]) -> None:
    """Call a function for each of the backends, by default all, with its executor."""
    for backend, executor in WAYS.items():
        if not names or backend in names:
            act(backend, executor)


def main() -> None:
    """Print all rows."""
    print("| network | runs on | estimate, MiB | measured, MiB | error |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        made = networks()

        def rows(backend: str, executor: str) -> None:
            small = Path(directory, f"small-{backend}.pte")
            for name, (module, example) in made.items():
                path = Path(directory, f"{name.replace(' ', '-').replace(',', '')}-{backend}.pte")
                export(path, module, example, backend)
                if path != small:
                    command = [sys.executable, __file__, "--row", name, backend, executor, small, path]
                    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
                    path.unlink()

        each_way(sys.argv[1:], rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--row"]:
        measure(*sys.argv[2:])
    else:
        main()
