"""Libraries with the C interface of backends, compiled for tests."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from compilers import compiled

from etconfig.base.compile_specs import CompileSpecs
from etconfig.c_interface.headers import include_dir
from etconfig.plugin.v1 import BackendOptions, ExecuteContext, InitContext
from etconfig.tracing import NullTracer

SOURCES = Path(__file__).parents[1] / "data" / "c_interface"
WARNINGS = ("-Wall", "-Wextra", "-pedantic", "-Werror")
COMPILERS = {"c": ("cc", "-std=c99"), "c++": ("c++", "-std=c++17")}
"""The compiler of each language, with its standard."""


def compile_with(language: str, *arguments: str | Path, target: Path) -> Path:
    """Run the system's compiler, with all warnings as errors. Skips the test if there is none."""
    compiler, standard = COMPILERS[language]
    if shutil.which(compiler) is None:
        pytest.skip(f"no compiler ({compiler}) on the PATH")
    return compiled([compiler, standard, *WARNINGS, f"-I{include_dir()}", *arguments], target)


def compile_library(name: str, directory: Path) -> Path:
    """Compile `tests/data/c_interface/NAME.c` and return the library."""
    return compile_with("c", "-shared", "-fPIC", SOURCES / f"{name}.c", target=directory / f"{name}.so")


class Memory:
    """An allocator that counts."""

    def __init__(self) -> None:
        self.blocks: list[np.ndarray[Any, Any]] = []

    def allocate(self, size_bytes: int, alignment_bytes: int = 64) -> np.ndarray[Any, Any]:
        self.blocks.append(np.zeros(size_bytes, np.uint8))
        return self.blocks[-1]


class Payload:
    """A payload that knows whether it was freed."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = memoryview(data)
        self.is_freed = False

    def free(self) -> None:
        self.is_freed = True


def init_context(options: BackendOptions, **changed: Any) -> InitContext[Any]:
    fields: dict[str, Any] = {
        "options": options,
        "method_name": "forward",
        "instance_name": None,
        "delegate_index": 0,
        "named_data": {},
        "allocator": Memory(),
        "tracer": NullTracer(),
        "compile_specs": CompileSpecs(),
    }
    return InitContext(**{**fields, **changed})


def serial(count: int, body: Any, max_workers: int) -> None:
    for index in range(count):
        body(index)


def execute_context(options: BackendOptions, **changed: Any) -> ExecuteContext[Any]:
    fields: dict[str, Any] = {
        "options": options,
        "method_name": "forward",
        "instance_name": None,
        "temporary": Memory(),
        "parallel_for": serial,
        "tracer": NullTracer(),
    }
    return ExecuteContext(**{**fields, **changed})


def update_context(options: BackendOptions) -> Any:
    return SimpleNamespace(options=options, previous=options, method_name="forward", instance_name=None)
