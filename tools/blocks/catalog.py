"""`Block`: a module with example inputs, by the name that the tests use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import executorch.kernels.quantized  # noqa: F401  registers the operators of quantized blocks
import torch
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from torch import Tensor, nn
from torch.export import Dim, export
from torch.utils._pytree import tree_leaves

Inputs = tuple[Tensor, ...]


@dataclass(frozen=True)
class Block:
    """A block and how to export it.

    Attributes:
        name: A few words.
        make: Makes the module.
        inputs: Makes the inputs: the example of the export, and those of the runs.
        is_dynamic: Export with a first dimension of unknown size, in all inputs; the last run has twice the
            size.
        is_random: The outputs are random: only their shapes and dtypes are compared.
        preserved: Operators to leave whole, which the export would decompose otherwise.
    """

    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], Inputs]
    is_dynamic: bool = False
    is_random: bool = False
    preserved: tuple[Any, ...] = ()

    def module(self) -> nn.Module:
        """Return the module, with the same random weights each time, for inference."""
        torch.manual_seed(0)
        return self.make().eval()

    def calls(self) -> list[Inputs]:
        """Return the inputs of two runs: the example itself, and other numbers or another size."""
        torch.manual_seed(1)
        example = self.inputs()
        if self.is_dynamic:
            return [example, tuple(torch.cat([each, each.flip(0)]) for each in example)]
        return [example, self.inputs()]


BLOCKS: dict[str, Block] = {}
"""All blocks by name."""


def block(name: str, make: Callable[[], nn.Module], inputs: Callable[[], Inputs], **options: Any) -> None:
    """Register the block of a module."""
    assert name not in BLOCKS, name
    BLOCKS[name] = Block(name, make, inputs, **options)


def function(name: str, call: Callable[..., Any], inputs: Callable[[], Inputs], **options: Any) -> None:
    """Register the block of a function of tensors."""
    block(name, lambda: _named(call), inputs, **options)


def _named(call: Callable[..., Any]) -> nn.Module:
    """Return a module that calls a function, and returns the tensors of its results in a tuple."""

    class Function(nn.Module):
        def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
            return tuple(tree_leaves(call(*inputs)))

    return Function()


def export_block(each: Block) -> bytes:
    """Return the program of a block, without delegates."""
    example = each.calls()[0]
    rows = Dim("rows", max=4 * len(example[0])) if each.is_dynamic else None
    module = each.module()
    shapes: Any = tuple({0: rows} for _ in example) if each.is_dynamic else None
    if shapes and type(module).__name__ == "Function":
        shapes = (shapes,)
    config = EdgeCompileConfig(_check_ir_validity=False, preserve_ops=list(each.preserved))
    exported = export(module, example, dynamic_shapes=shapes, strict=False)
    return to_edge_transform_and_lower(exported, compile_config=config).to_executorch().buffer
