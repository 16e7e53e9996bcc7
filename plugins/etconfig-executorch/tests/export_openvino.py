"""Export real programs for OpenVINO, each with its input, eager's output, and eager's in bfloat16.

Usage: export_openvino.py DIRECTORY
"""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import torch


def import_openvino_backend() -> Any:
    """Import executorch.backends.openvino without its quantizer, whose import needs nncf."""
    name = "executorch.backends.openvino"
    spec = importlib.util.find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = types.ModuleType(name)
    package.__path__ = [f"{spec.submodule_search_locations[0]}/backends/openvino"]
    sys.modules[name] = package
    from executorch.backends.openvino import partitioner

    return partitioner


PARTITIONER = import_openvino_backend()

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner  # noqa: E402
from executorch.exir import to_edge_transform_and_lower  # noqa: E402
from executorch.exir.backend.backend_details import CompileSpec  # noqa: E402


class ConvNet(torch.nn.Module):
    """Convolutions with normalization, pooling and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, padding=1),
            torch.nn.BatchNorm2d(16),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(16, 16, 3, padding=1, groups=16),
            torch.nn.Conv2d(16, 32, 1),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
            torch.nn.Linear(32, 10),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Block(torch.nn.Module):
    """One block of a transformer: attention and a feed-forward network, each with a residual."""

    def __init__(self, size: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = torch.nn.LayerNorm(size), torch.nn.LayerNorm(size)
        self.qkv, self.out = torch.nn.Linear(size, 3 * size), torch.nn.Linear(size, size)
        self.up, self.down = torch.nn.Linear(size, 4 * size), torch.nn.Linear(4 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, size = x.shape
        parts = self.qkv(self.before(x)).reshape(batch, length, 3, self.heads, size // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, size))
        return x + self.down(torch.nn.functional.gelu(self.up(self.between(x))))


class Mixed(torch.nn.Module):
    """A linear layer for XNNPACK between two functions for OpenVINO."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(self.linear(torch.sin(x)), dim=-1)


def openvino() -> Any:
    return PARTITIONER.OpenvinoPartitioner([CompileSpec("device", b"CPU")])


def export(
    directory: Path,
    name: str,
    model: torch.nn.Module,
    x: torch.Tensor,
    partitioners: Any,
    dynamic: Any = None,
) -> None:
    model = model.eval()
    exported = torch.export.export(model, (x,), dynamic_shapes=dynamic)
    edge = to_edge_transform_and_lower(exported, partitioner=partitioners)
    (directory / f"{name}.pte").write_bytes(edge.to_executorch().buffer)
    with torch.no_grad():
        y = model(x)
        coarse = model.to(torch.bfloat16)(x.to(torch.bfloat16)).float()
        model.to(torch.float32)
    np.savez(directory / f"{name}.npz", x=x.numpy(), y=y.numpy(), coarse=coarse.numpy())


def main(directory: Path) -> None:
    torch.manual_seed(0)
    export(directory, "conv", ConvNet(), torch.randn(1, 3, 32, 32), [openvino()])
    export(directory, "block", Block(), torch.randn(2, 16, 64), [openvino()])
    export(directory, "large", torch.nn.Linear(1024, 1024), torch.randn(64, 1024), [openvino()])
    # OpenVINO takes what XNNPACK leaves.
    export(directory, "mixed", Mixed(), torch.randn(4, 32), [XnnpackPartitioner(), openvino()])
    batch = ({0: torch.export.Dim("batch", min=1, max=16)},)
    export(directory, "dynamic", torch.nn.Conv2d(3, 4, 3), torch.randn(4, 3, 8, 8), [openvino()], batch)


main(Path(sys.argv[1]))
