"""Numpy kernels for the operators that ExecuTorch has kernels for, by family."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from etconfig.kernel.registry import Kernel, KernelTable

FAMILIES = (
    "attention",
    "batch_normalization",
    "contractions",
    "distances",
    "embedding_bags",
    "linalg",
    "movement.copying",
    "movement.creation",
    "movement.indexing",
    "movement.joining",
    "movement.masking",
    "movement.reduced_writes",
    "movement.shape",
    "normalization",
    "ordering",
    "pointwise.activations",
    "pointwise.arithmetic",
    "pointwise.comparisons",
    "pointwise.complex_numbers",
    "pointwise.gelu",
    "pointwise.math_functions",
    "pointwise.special_functions",
    "prefixes",
    "quantized.dequantize",
    "quantized.quantization_parameters",
    "quantized.quantize",
    "quantized.quantized_layers",
    "random_numbers",
    "reduction",
    "searching",
    "softmax",
    "symbolic",
    "windows.adaptive_pooling",
    "windows.convolution",
    "windows.gradients",
    "windows.grid_sampling",
    "windows.padding",
    "windows.pooling",
    "windows.resampling",
    "windows.sampled_pooling",
)
"""The modules of this package; each exports its `KERNELS`, a KernelTable."""


def builtin_tables() -> tuple[KernelTable, ...]:
    """Return the kernels of this package, family by family; they are imported on the first call."""
    return tuple(import_module(f"{__name__}.{family}").KERNELS for family in FAMILIES)


@lru_cache(1)
def builtin_kernels() -> Mapping[str, Kernel]:
    """Return all kernels of this package, which never change."""
    from etconfig.kernel.registry import kernels_by_operator

    return kernels_by_operator(builtin_tables())
