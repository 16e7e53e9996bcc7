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
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

torch.manual_seed(0)
size = 1024
layers = [torch.nn.Linear(size, size) for _ in range(8)]
model = torch.nn.Sequential(*layers).eval()
x = torch.randn(64, size)
exported = torch.export.export(model, (x,))
edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
open(sys.argv[1], "wb").write(edge.to_executorch().buffer)
numpy.savez(sys.argv[2], x=x.numpy(), y=model(x).detach().numpy())
"""
"""A program with enough work and weights that threads, time and memory can be seen."""


@pytest.fixture(scope="session")
def large_program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A program delegated to XNNPACK, 32 MB of weights, and its input and output."""
    directory = tmp_path_factory.mktemp("large")
    program, answers = directory / "large.pte", directory / "large.npz"
    subprocess.run([sys.executable, "-c", EXPORT, program, answers], check=True, capture_output=True)
    return program, answers


@pytest.fixture
def in_process(tmp_path: Path) -> Callable[..., str]:
    """Runs code in a process of its own, since the runtime keeps one state for each process."""

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
