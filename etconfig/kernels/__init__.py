"""Numpy kernels for the operators that ExecuTorch has kernels for, by family."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from etconfig.kernel.registry import KernelRegistry, KernelTable

FAMILIES = (
    "activations",
    "adaptive_pooling",
    "arithmetic",
    "attention",
    "batch_norm",
    "comparison",
    "complex_numbers",
    "contractions",
    "convolution",
    "copying",
    "creation",
    "dequantize",
    "distances",
    "embedding_bags",
    "gelu",
    "gradients",
    "grid_sampling",
    "indexing",
    "joining",
    "linalg",
    "masking",
    "math_functions",
    "normalization",
    "order_statistics",
    "ordering",
    "padding",
    "pooling",
    "prefixes",
    "quantization_parameters",
    "quantize",
    "quantized_layers",
    "random_numbers",
    "reduced_writes",
    "reduction",
    "resampling",
    "sampled_pooling",
    "searching",
    "shape",
    "softmax",
    "special_functions",
    "symbolic",
    "volume_sampling",
)
"""The modules of this package; each exports its `KERNELS`, a KernelTable."""


def builtin_tables() -> tuple[KernelTable, ...]:
    """Return the kernels of this package, family by family; they are imported on the first call."""
    return tuple(import_module(f"{__name__}.{family}").KERNELS for family in FAMILIES)


def builtin_kernels() -> KernelRegistry:
    """Return all kernels of this package."""
    from etconfig.kernel.registry import KernelRegistry

    return KernelRegistry(builtin_tables())
