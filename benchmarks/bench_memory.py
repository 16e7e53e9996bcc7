"""The resident memory that a program of 128 MiB takes when it is opened, loaded and executed.

    python benchmarks/bench_memory.py

Needs torch, executorch and etconfig-executorch, on Linux. Eight linear layers with 128 MiB of weights, once
delegated to XNNPACK, which packs them, and once not, so that they are constants. Each row is a fresh process
that has run a small program before, so that libraries do not count: the growth of the resident memory after
opening, loading and one execute, and its peak, in MiB. Mapped pages count, though the system can take them
back.
`stock` is ExecuTorch's own Python runtime, which maps the file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime
from torch import nn

import etconfig

WIDTH = 2048
LAYERS = 8
ROWS = (
    ("xnnpack", "executorch", "file"),
    ("xnnpack", "executorch", "mmap"),
    ("xnnpack", "stock", ""),
    ("portable", "executorch", "file"),
    ("portable", "executorch", "mmap"),
    ("portable", "stock", ""),
    ("portable", "numpy", "file"),
    ("portable", "numpy", "mmap"),
)


def export(path: Path, width: int, *, is_delegated: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(width, width) for _ in range(LAYERS))).eval()
    exported = torch.export.export(model, (torch.ones(1, width),))
    partitioner = [XnnpackPartitioner()] if is_delegated else None
    path.write_bytes(to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch().buffer)


def status_mib(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def opener(executor: str, mode: str) -> Callable[[Path], Any]:
    if executor == "stock":
        return Runtime.get().load_program
    return lambda path: etconfig.load_program(path, executor=executor, load_mode=etconfig.LoadMode(mode))


def measure(small: str, large: str, executor: str, mode: str) -> None:
    """Print one row; runs in a fresh process."""
    open_it = opener(executor, mode)

    def inputs(width: int) -> list[Any]:
        return [torch.ones(1, width) if executor == "stock" else np.ones((1, width), np.float32)]

    open_it(Path(small)).load_method("forward").execute(inputs(8))
    start = status_mib("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # begin the peak anew
    program = open_it(Path(large))
    row = [status_mib("VmRSS") - start]
    method = program.load_method("forward")
    row.append(status_mib("VmRSS") - start)
    method.execute(inputs(WIDTH))
    row += [status_mib("VmRSS") - start, status_mib("VmHWM") - start]
    name = Path(large).stem
    print(f"{name:<10} {executor:<11} {mode:<6}" + "".join(f"{each:>9.0f}" for each in row), flush=True)


def main() -> None:
    print(f"{'':<29}{'open':>9}{'load':>9}{'execute':>9}{'peak':>9}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        for name, is_delegated in (("xnnpack", True), ("portable", False)):
            export(Path(directory, f"{name}.pte"), WIDTH, is_delegated=is_delegated)
            export(Path(directory, f"small_{name}.pte"), 8, is_delegated=is_delegated)
        for name, executor, mode in ROWS:
            paths = [str(Path(directory, f"{prefix}{name}.pte")) for prefix in ("small_", "")]
            command = [sys.executable, __file__, *paths, executor, mode]
            subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


if __name__ == "__main__":
    if len(sys.argv) == 5:
        measure(*sys.argv[1:])
    else:
        main()
