"""Quantize: real numbers to small integers, clamp(round(real / scale) + zero_point).

The arithmetic follows eager PyTorch, torch.ao.quantization.fx._decomposed, step for step: it multiplies
by 1 / scale, so results half-way between two integers depend on how that is rounded.
"""

from __future__ import annotations

import numpy as np

from etconfig.kernel.checks import promote, require_floating
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import KernelTable, Step, kernel
from etconfig.kernel.step_makers import FLOAT32, FLOAT64, copy_step, in_sequence, ufunc_step
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.quantized.quantized_numbers import (
    channel_shape,
    element,
    group_shape,
    require_quantized,
    shaped,
    token_shape,
)


@kernel("quantized_decomposed::quantize_per_tensor.out")
def quantize_per_tensor(
    x: Tensor,
    scale: float,
    zero_point: int,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Quantize with one scale and zero point.

    Shapes: x (*S), out (*S). Dtypes: x floating, out quantized.
    """
    parameters = (np.array(scale, FLOAT64), np.array(zero_point))
    return _quantize_all(x, parameters, _bounds(quant_min, quant_max), dtype, out, scratch)


@kernel("quantized_decomposed::quantize_per_tensor.Tensor_out")
def quantize_per_tensor_tensor(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Quantize with a scale and zero point in tensors of one element."""
    parameters = (element("scale", scale), element("zero_point", zero_point))
    return _quantize_all(x, parameters, _bounds(quant_min, quant_max), dtype, out, scratch)


@kernel("quantized_decomposed::quantize_per_tensor.tensor2_out")
def quantize_per_tensor_tensor2(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: Tensor,
    quant_max: Tensor,
    dtype: int,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Quantize with the range in tensors of one element as well."""
    parameters = (element("scale", scale), element("zero_point", zero_point))
    bounds = (element("quant_min", quant_min), element("quant_max", quant_max))
    return _quantize_all(x, parameters, bounds, dtype, out, scratch)


def _quantize_all(
    x: Tensor,
    parameters: tuple[Array, Array],
    bounds: tuple[Array, Array],
    dtype: int,
    out: Tensor,
    scratch: Scratch,
) -> Step:
    _prepare_quantize(x, dtype, out)
    scale, zero_point = parameters
    inverse = np.empty((), FLOAT64)
    values = scratch.array(x.shape, FLOAT32)
    return in_sequence(
        ufunc_step(np.reciprocal, (scale,), inverse, FLOAT64),
        ufunc_step(np.multiply, (x.array, inverse), values, FLOAT32),
        ufunc_step(np.rint, (values,), values, FLOAT32),
        ufunc_step(np.add, (values, zero_point), values, FLOAT32),
        _clamp_step(values, bounds, out.array),
    )


@kernel("quantized_decomposed::quantize_per_channel.out")
def quantize_per_channel(
    x: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Quantize each index of one dimension with its own parameters. Shapes: scales and zero_points (C,)."""
    _prepare_quantize(x, dtype, out)
    shape = channel_shape(x, axis)
    inverse = np.empty(shape, scales.dtype)
    work = promote(FLOAT32, scales.dtype)
    values = scratch.array(x.shape, work)
    return in_sequence(
        ufunc_step(np.reciprocal, (shaped("scales", scales, shape),), inverse, scales.dtype),
        ufunc_step(np.multiply, (x.array, inverse), values, work),
        ufunc_step(np.rint, (values,), values, work),
        ufunc_step(np.add, (values, shaped("zero_points", zero_points, shape)), values, work),
        _clamp_step(values, _bounds(quant_min, quant_max), out.array),
    )


@kernel("quantized_decomposed::quantize_per_token.out")
def quantize_per_token(
    x: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Quantize each row with its own parameters. Shapes: x (*S, N), scales and zero_points (*S, 1)."""
    _prepare_quantize(x, dtype, out)
    shape = token_shape(x)
    bounds = _bounds(quant_min, quant_max)
    return _quantize_rows(x.array, scales, zero_points, shape, bounds, out.array, scratch)


@kernel("quantized_decomposed::quantize_per_channel_group.out")
def quantize_per_channel_group(
    x: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    group_size: int,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Quantize each group within a row. Shapes: x (M, N), scales (M, N / group_size)."""
    _prepare_quantize(x, dtype, out)
    groups = group_shape(x, group_size)
    source, target = np.empty(groups, x.dtype), np.empty(groups, out.dtype)
    return in_sequence(
        copy_step(source.reshape(x.shape), x.array),
        _quantize_rows(
            source, scales, zero_points, (*groups[:-1], 1), _bounds(quant_min, quant_max), target, scratch
        ),
        copy_step(out.array, target.reshape(out.shape)),
    )


def _quantize_rows(
    x: Array,
    scales: Tensor,
    zero_points: Tensor,
    shape: Shape,
    bounds: tuple[Array, Array],
    out: Array,
    scratch: Scratch,
) -> Step:
    """Return the step that quantizes rows: here the zero point is added before rounding."""
    inverse = np.empty(shape, scales.dtype)
    work = promote(x.dtype, scales.dtype)
    values = scratch.array(x.shape, work)
    return in_sequence(
        ufunc_step(np.reciprocal, (shaped("scales", scales, shape),), inverse, scales.dtype),
        ufunc_step(np.multiply, (x, inverse), values, work),
        ufunc_step(np.add, (values, shaped("zero_points", zero_points, shape)), values, work),
        ufunc_step(np.rint, (values,), values, work),
        _clamp_step(values, bounds, out),
    )


def _prepare_quantize(x: Tensor, dtype: int, out: Tensor) -> None:
    require_floating("input", x)
    require_quantized("out", out, dtype)
    out.resize(x.shape)


def _bounds(quant_min: int, quant_max: int) -> tuple[Array, Array]:
    return np.array(quant_min), np.array(quant_max)


def _clamp_step(values: Array, bounds: tuple[Array, Array], out: Array) -> Step:
    low, high = bounds
    return in_sequence(
        ufunc_step(np.maximum, (values, low), values, values.dtype),
        ufunc_step(np.minimum, (values, high), values, values.dtype),
        copy_step(out, values),
    )


KERNELS = KernelTable.of_module(globals())
