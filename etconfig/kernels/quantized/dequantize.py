"""Dequantize: small integers back to real numbers, (quantized - zero_point) * scale.

The arithmetic follows eager PyTorch, torch.ao.quantization.fx._decomposed, step for step. The range and
the dtype in the arguments of a dequantization only document the graph.
"""

from __future__ import annotations

import numpy as np

from etconfig.kernel.checks import promote, require_floating
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import KernelTable, Step, kernel
from etconfig.kernel.step_makers import FLOAT64, computation_dtype, copy_step, in_sequence, ufunc_step
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.quantized.quantized_numbers import (
    channel_shape,
    element,
    group_shape,
    require_quantized,
    shaped,
    token_shape,
)


@kernel("quantized_decomposed::dequantize_per_tensor.out")
def dequantize_per_tensor(
    x: Tensor,
    scale: float,
    zero_point: int,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out_dtype: int | None,
    out: Tensor,
) -> Step:
    """Dequantize with one scale and zero point.

    Shapes: x (*S), out (*S). Dtypes: x quantized, out floating.
    """
    return _dequantize_all(x, np.array(scale, FLOAT64), np.array(zero_point), dtype, out)


@kernel("quantized_decomposed::dequantize_per_tensor.Tensor_out")
def dequantize_per_tensor_tensor(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out_dtype: int | None,
    out: Tensor,
) -> Step:
    """Dequantize with a scale and zero point in tensors of one element."""
    return _dequantize_all(x, element("scale", scale), element("zero_point", zero_point), dtype, out)


@kernel("quantized_decomposed::dequantize_per_tensor.tensor2_out")
def dequantize_per_tensor_tensor2(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: Tensor,
    quant_max: Tensor,
    dtype: int,
    out_dtype: int | None,
    out: Tensor,
) -> Step:
    """Dequantize with the range in tensors as well."""
    return _dequantize_all(x, element("scale", scale), element("zero_point", zero_point), dtype, out)


def _dequantize_all(x: Tensor, scale: Array, zero_point: Array, dtype: int, out: Tensor) -> Step:
    """Return the step that rounds each result to out's dtype, also between the two operations."""
    _prepare_dequantize(x, dtype, out)
    work = computation_dtype(out.dtype)
    return in_sequence(
        ufunc_step(np.subtract, (x.array, zero_point), out.array, work),
        ufunc_step(np.multiply, (out.array, scale), out.array, work),
    )


@kernel("quantized_decomposed::dequantize_per_channel.out")
def dequantize_per_channel(
    x: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out_dtype: int | None,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Dequantize each index of one dimension with its own parameters. Shapes: scales and zero_points (C,)."""
    _prepare_dequantize(x, dtype, out)
    return _dequantize_broadcast(x.array, scales, zero_points, channel_shape(x, axis), out.array, scratch)


@kernel("quantized_decomposed::dequantize_per_token.out")
def dequantize_per_token(
    x: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    output_dtype: int,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Dequantize each row with its own parameters. Shapes: x (*S, N), scales and zero_points (*S, 1)."""
    _prepare_dequantize(x, dtype, out)
    return _dequantize_broadcast(x.array, scales, zero_points, token_shape(x), out.array, scratch)


@kernel("quantized_decomposed::dequantize_per_channel_group.out")
def dequantize_per_channel_group(
    x: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    quant_min: int,
    quant_max: int,
    dtype: int,
    group_size: int,
    output_dtype: int,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Dequantize each group within a row. Shapes: x (M, N), scales (M, N / group_size)."""
    _prepare_dequantize(x, dtype, out)
    groups = group_shape(x, group_size)
    source, target = np.empty(groups, x.dtype), np.empty(groups, out.dtype)
    return in_sequence(
        copy_step(source.reshape(x.shape), x.array),
        _dequantize_broadcast(source, scales, zero_points, (*groups[:-1], 1), target, scratch),
        copy_step(out.array, target.reshape(out.shape)),
    )


def _dequantize_broadcast(
    x: Array, scales: Tensor, zero_points: Tensor | None, shape: Shape, out: Array, scratch: Scratch
) -> Step:
    """Return the step of (x - zero_points) * scales, for parameters that broadcast to `x` as `shape`."""
    factors = shaped("scales", scales, shape)
    if zero_points is None:
        work = promote(x.dtype, scales.dtype)
        product = scratch.array(x.shape, work)
        return in_sequence(ufunc_step(np.multiply, (x, factors), product, work), copy_step(out, product))
    exact = promote(x.dtype, zero_points.dtype)
    work = promote(exact, scales.dtype)
    difference, product = scratch.arrays((x.shape, exact), (x.shape, work))
    return in_sequence(
        ufunc_step(np.subtract, (x, shaped("zero_points", zero_points, shape)), difference, exact),
        ufunc_step(np.multiply, (difference, factors), product, work),
        copy_step(out, product),
    )


def _prepare_dequantize(x: Tensor, dtype: int, out: Tensor) -> None:
    require_floating("out", out)
    require_quantized("input", x, dtype)
    out.resize(x.shape)


KERNELS = KernelTable.of_module(globals())
