from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "tests" / "data" / "programs"
DIGITS = ROOT / "tests" / "data" / "digits"

EXPORT = """
import sys, numpy, torch
from etconfig_reference.aot import ReferencePartitioner
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

torch.manual_seed(0)
for name, rows, size in (("large", 64, 1024), ("wide", 8192, 256)):
    model = torch.nn.Sequential(*(torch.nn.Linear(size, size) for _ in range(8))).eval()
    x = torch.randn(rows, size)
    exported = torch.export.export(model, (x,))
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    open(f"{sys.argv[1]}/{name}.pte", "wb").write(edge.to_executorch().buffer)
    numpy.savez(f"{sys.argv[1]}/{name}.npz", x=x.numpy(), y=model(x).detach().numpy())

model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)).eval()
x = torch.randn(2, 8)
partitioners = [ReferencePartitioner({"0": "ReferenceCpuBackend"}), XnnpackPartitioner()]
edge = to_edge_transform_and_lower(torch.export.export(model, (x,)), partitioner=partitioners)
open(f"{sys.argv[1]}/mixed.pte", "wb").write(edge.to_executorch().buffer)
numpy.savez(f"{sys.argv[1]}/mixed.npz", x=x.numpy(), y=model(x).detach().numpy())

class Double(torch.nn.Module):
    def forward(self, x):
        return x + x

edge = to_edge_transform_and_lower(torch.export.export(Double(), (torch.tensor(1.0),)))
open(f"{sys.argv[1]}/rankless.pte", "wb").write(edge.to_executorch().buffer)
"""
"""Programs with enough weights (32 MB) or activations (8 MB a layer) to make threads and memory visible."""


@pytest.fixture(scope="session")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export programs delegated to XNNPACK, each with its input and output."""
    directory = tmp_path_factory.mktemp("exports")
    subprocess.run([sys.executable, "-c", EXPORT, directory], check=True, capture_output=True)
    return directory


@pytest.fixture
def large_program(exports: Path) -> tuple[Path, Path]:
    """A program with 32 MB of weights."""
    return exports / "large.pte", exports / "large.npz"


@pytest.fixture
def wide_program(exports: Path) -> tuple[Path, Path]:
    """A program with 8 MB of activations in each layer."""
    return exports / "wide.pte", exports / "wide.npz"


@pytest.fixture
def mixed_program(exports: Path) -> tuple[Path, Path]:
    """A program that delegates one layer to a backend in Python and one to XNNPACK."""
    return exports / "mixed.pte", exports / "mixed.npz"


@pytest.fixture
def rankless_program(exports: Path) -> Path:
    """A program that adds a tensor without dimensions to itself."""
    return exports / "rankless.pte"


@pytest.fixture
def in_process(tmp_path: Path) -> Callable[..., str]:
    """Run code in its own process, since the runtime's state is process-wide."""

    def run(code: str, *arguments: object, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, **environment},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    return run
