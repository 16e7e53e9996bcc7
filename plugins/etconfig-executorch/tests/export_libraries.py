"""Export programs with operators and backends that libraries bring, each with its inputs and eager's output.

Usage: export_libraries.py DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import executorch.kernels.quantized  # noqa: F401  # registers the out variants for the export
import numpy as np
import torch
from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  # the same for language models

LIBRARY = torch.library.Library("demo", "DEF")
LIBRARY.define("triple(Tensor x) -> Tensor")
LIBRARY.define("triple.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")


@torch.library.impl(LIBRARY, "triple", "CompositeExplicitAutograd")
def triple(x: torch.Tensor) -> torch.Tensor:
    return 3 * x


@torch.library.impl(LIBRARY, "triple.out", "CompositeExplicitAutograd")
def triple_out(x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return out.copy_(3 * x)


class Triple(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.demo.triple(x) + 1


class Quantized(torch.nn.Module):
    """Rows of an embedding in int8, scaled row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 127, (16, 8), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(16, 1))

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        return torch.ops.quantized_decomposed.embedding_byte(
            self.weight, self.scales, None, -128, 127, indices
        )


class Attention(torch.nn.Module):
    """Attention of one step of a language model, with its key-value cache."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 8, 2, 4))
        self.register_buffer("values", torch.zeros(1, 8, 2, 4))

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.ops.llama.sdpa_with_kv_cache(q, k, v, self.keys, self.values, 0, 3, None, 0, True, None)


class DemoBackend(BackendDetails):
    """A delegate without a payload; the library adds 1 to its input."""

    @staticmethod
    def preprocess(edge_program: Any, compile_specs: Any) -> PreprocessResult:
        return PreprocessResult(processed_bytes=b"one")


class DemoPartitioner(Partitioner):
    def partition(self, exported_program: Any) -> PartitionResult:
        for node in exported_program.graph.nodes:
            if node.op == "call_function":
                node.meta["delegation_tag"] = "demo"
        return PartitionResult(exported_program, {"demo": DelegationSpec("DemoBackend", [])})


class PlusOne(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.abs(x)


def export(directory: Path, name: str, model: torch.nn.Module, inputs: Any, y: Any = None) -> None:
    y = model(*inputs) if y is None else y
    exported = torch.export.export(model.eval(), inputs)
    if name == "delegated":
        edge = to_edge_transform_and_lower(exported, partitioner=[DemoPartitioner()])
    else:
        edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    (directory / f"{name}.pte").write_bytes(edge.to_executorch().buffer)
    arrays = {f"in{index}": each.numpy() for index, each in enumerate(inputs)}
    np.savez(directory / f"{name}.npz", y=y.numpy(), **arrays)


def main(directory: Path) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 5)
    export(directory, "custom", Triple(), (x,))
    export(directory, "delegated", PlusOne(), (x,), x + 1)
    export(directory, "quantized", Quantized(), (torch.tensor([[1, 15, 3]]),))
    q, k, v = (torch.randn(1, 3, 2, 4) for _ in range(3))
    parts = (each.transpose(1, 2) for each in (q, k, v))
    y = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2)
    export(directory, "attention", Attention(), (q, k, v), y)


main(Path(sys.argv[1]))
