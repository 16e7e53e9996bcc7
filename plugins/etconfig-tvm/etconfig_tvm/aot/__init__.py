"""The ahead-of-time half: models of PyTorch, compiled by TVM to libraries and to delegates.

Needs apache-tvm and torch, for delegates also executorch: the extra `aot`. They are imported when used.
"""

from __future__ import annotations

from etconfig_tvm.aot.compiler import CompiledModel, CompileSettings, compile_model, seal_library
from etconfig_tvm.aot.partitioner import tvm_partitioner
from etconfig_tvm.aot.target import TvmTarget

__all__ = [
    "CompileSettings",
    "CompiledModel",
    "TvmTarget",
    "compile_model",
    "seal_library",
    "tvm_partitioner",
]
