"""Backends given in code, inside the real runtime."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig.errors import BackendUnavailableError
from etconfig.plugin.v1 import Backend, CompileSpec, ExecuteContext, InitContext, Processed, Value

pytestmark = pytest.mark.peers

EXPORT = """
import sys, torch
from executorch.exir import to_edge
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec

class GivenBackend(BackendDetails):
    @staticmethod
    def preprocess(edge_program, compile_specs):
        return PreprocessResult(processed_bytes=b"double")

class Double(torch.nn.Module):
    def forward(self, x):
        return x + x

x = (torch.ones(2),)
edge = to_edge(torch.export.export(Double(), x)).exported_program()
specs = [CompileSpec(key, value) for key, value in eval(sys.argv[2])]
lowered = to_backend("GivenBackend", edge, specs)
open(sys.argv[1], "wb").write(lowered.buffer())
"""
SPECS = [("op", b"a"), ("z", b"1"), ("op", b"b")]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of one delegate, whose compile specs repeat a key."""
    path = tmp_path_factory.mktemp("given") / "given.pte"
    subprocess.run([sys.executable, "-c", EXPORT, path, repr(SPECS)], check=True, capture_output=True)
    return path


class Doubling(Backend[Any, tuple[CompileSpec, ...]]):
    """Doubles its input; its handle is what the program fixed."""

    def __init__(self) -> None:
        self.seen: list[tuple[CompileSpec, ...]] = []

    def init(self, context: InitContext[Any], processed: Processed, compile_specs: Any) -> Any:
        assert compile_specs == context.compile_specs
        self.seen.append(context.compile_specs.in_order)
        return context.compile_specs.in_order

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        source, out = args
        assert isinstance(source, np.ndarray)
        assert isinstance(out, np.ndarray)
        out[:] = 2 * source


@pytest.mark.parametrize("executor", ["numpy", "executorch"])
def test_it_runs_with_the_compile_specs_of_the_program_in_order(exported: Path, executor: str) -> None:
    backend = Doubling()
    program = etconfig.load_program(exported, executor=executor)
    with program, program.load_method("forward", backends={"GivenBackend": backend}) as method:
        assert method.execute([np.ones(2, np.float32)])[0].tolist() == [2, 2]
    assert backend.seen == [tuple(SPECS)]


def test_it_cannot_replace_a_backend_of_the_runtime() -> None:
    path = Path(__file__).parents[1] / "etconfig_executorch" / "golden" / "XnnpackBackend" / "add.pte"
    with (
        etconfig.load_program(path, executor="executorch") as program,
        pytest.raises(BackendUnavailableError, match="which cannot be replaced"),
    ):
        program.load_method("forward", backends={"XnnpackBackend": Doubling()})
