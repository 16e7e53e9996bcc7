"""An architecture with random weights, and the inputs to call it with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from architectures.catalog import ARCHITECTURES, Architecture, Axes, Inputs
from architectures.layers import fold_norms

STATIC_CALLS = 3
"""More than one, to reveal state that should or should not be kept."""


@dataclass(frozen=True)
class Example:
    """A module in eval mode and the inputs of consecutive calls, the first of the largest sizes.

    Attributes:
        dynamic_shapes: In the form of torch.export; None if all calls have one shape.
    """

    module: nn.Module
    calls: tuple[Inputs, ...]
    dynamic_shapes: tuple[Mapping[int, Any], ...] | None


def make(
    name: str,
    size: str = "tiny",
    *,
    dtype: torch.dtype = torch.float32,
    is_dynamic: bool = False,
    is_channels_last: bool = False,
    seed: int = 0,
) -> Example:
    """Return one of ARCHITECTURES with random weights and inputs; the same each time.

    Args:
        dtype: The type of the weights and of all floating inputs.
        is_dynamic: Let the inputs' sizes vary from call to call.
        is_channels_last: Use the channels-last memory format for images. Batch norms are folded into the
            convolutions, since ExecuTorch's portable kernel for them refuses this format.
        seed: The seed of weights and inputs.
    """
    torch.manual_seed(seed)
    architecture = ARCHITECTURES[name]
    options, axes = architecture.sizes[size].options, architecture.sizes[size].axes
    module = architecture.module(**options)
    _randomise_norms(module)
    module = module.eval().requires_grad_(False).to(dtype=dtype)
    memory_format = torch.preserve_format
    if is_channels_last:
        memory_format = torch.channels_last
        fold_norms(module)
    taken = [axes, *_smaller(architecture, axes)] if is_dynamic else [axes] * STATIC_CALLS
    calls = []
    for index, each in enumerate(taken):
        inputs = architecture.inputs(options, each, taken[:index])
        calls.append(tuple(_converted(value, dtype, memory_format) for value in inputs))
    return Example(module, tuple(calls), _dynamic_shapes(architecture, axes) if is_dynamic else None)


def _randomise_norms(module: nn.Module) -> None:
    """Give it values as if trained: a new normalization is an identity, which hides mistakes."""
    for each in module.modules():
        if isinstance(each, nn.LayerNorm | nn.BatchNorm2d):
            nn.init.uniform_(each.weight, 0.5, 1.5)
            nn.init.normal_(each.bias, std=0.1)
        if isinstance(each, nn.BatchNorm2d):
            nn.init.normal_(each.running_mean, std=0.1)
            nn.init.uniform_(each.running_var, 0.5, 1.5)


def _converted(value: Tensor, dtype: torch.dtype, memory_format: torch.memory_format) -> Tensor:
    return value.to(dtype, memory_format=memory_format) if value.is_floating_point() else value


def _smaller(architecture: Architecture, axes: Axes) -> list[Axes]:
    """Return about half of every varying axis, then the smallest allowed size."""
    varying = {axis for dimensions in architecture.varying for axis in dimensions.values()}
    multiples = {axis: architecture.multiples.get(axis, 1) for axis in varying}
    halves = {axis: max(1, axes[axis] // (2 * step)) * step for axis, step in multiples.items()}
    return [{**axes, **halves}, {**axes, **multiples}]


def _dynamic_shapes(architecture: Architecture, axes: Axes) -> tuple[Mapping[int, Any], ...]:
    dims = {}
    for axis in {axis: None for dimensions in architecture.varying for axis in dimensions.values()}:
        step = architecture.multiples.get(axis, 1)
        dims[axis] = (
            Dim(axis, min=1, max=axes[axis])
            if step == 1
            else step * Dim(f"{axis}_by_{step}", min=1, max=axes[axis] // step)
        )
    return tuple({index: dims[axis] for index, axis in each.items()} for each in architecture.varying)
