"""Affine quantization: real numbers to small integers and back.

quantized = clamp(round(real / scale) + zero_point), real = (quantized - zero_point) * scale. The
arithmetic is that of eager PyTorch, torch.ao.quantization.fx._decomposed, step for step: it multiplies
by 1 / scale, so results half-way between two integers depend on how that is rounded. The range and the
dtype that a dequantization is given are notes for whoever reads the graph.
"""

from __future__ import annotations

import math

import numpy as np

from etconfig.executor.checks import (
    dimension,
    promote,
    require,
    require_dtype,
    require_floating,
    require_rank,
)
from etconfig.executor.memory import Array, Scratch, Shape
from etconfig.executor.registry import KernelTable, Step, kernel
from etconfig.executor.tensor import DTYPES, Tensor
from etconfig.kernels.binding import (
    FLOAT32,
    FLOAT64,
    computation_dtype,
    copy_step,
    in_sequence,
    ufunc_step,
)
from etconfig.values import ScalarType

QUANTIZED = frozenset(
    {
        ScalarType.BYTE,
        ScalarType.CHAR,
        ScalarType.SHORT,
        ScalarType.INT,
        ScalarType.UINT16,
        ScalarType.BITS16,
    }
)
"""The types that hold quantized numbers."""


# --- quantize ----------------------------------------------------------------------------


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
    """One scale and zero point for all. Shapes: x (*S), out (*S). Dtypes: floating, quantized."""
    parameters = (np.array(scale, FLOAT64), np.array(zero_point))
    return _quantize_all(x, parameters, (np.array(quant_min), np.array(quant_max)), dtype, out, scratch)


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
    """The same with the parameters in tensors of one element."""
    parameters = (_element("scale", scale), _element("zero_point", zero_point))
    return _quantize_all(x, parameters, (np.array(quant_min), np.array(quant_max)), dtype, out, scratch)


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
    """The same with the range in tensors of one element, too."""
    parameters = (_element("scale", scale), _element("zero_point", zero_point))
    bounds = (_element("quant_min", quant_min), _element("quant_max", quant_max))
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
    """A scale and zero point for each index of one dimension. Shapes: scales and zero_points (C,)."""
    _prepare_quantize(x, dtype, out)
    shape = _channel_shape(x, axis)
    inverse = np.empty(shape, scales.dtype)
    work = promote(FLOAT32, scales.dtype)
    values = scratch.array(x.shape, work)
    return in_sequence(
        ufunc_step(np.reciprocal, (_shaped("scales", scales, shape),), inverse, scales.dtype),
        ufunc_step(np.multiply, (x.array, inverse), values, work),
        ufunc_step(np.rint, (values,), values, work),
        ufunc_step(np.add, (values, _shaped("zero_points", zero_points, shape)), values, work),
        _clamp_step(values, (np.array(quant_min), np.array(quant_max)), out.array),
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
    """A scale and zero point for each row. Shapes: x (*S, N), scales and zero_points (*S, 1)."""
    _prepare_quantize(x, dtype, out)
    shape = _token_shape(x)
    bounds = (np.array(quant_min), np.array(quant_max))
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
    """The same for each group within a row. Shapes: x (M, N), scales (M, N / group_size)."""
    _prepare_quantize(x, dtype, out)
    groups = _groups(x, group_size)
    bounds = (np.array(quant_min), np.array(quant_max))
    source, target = np.empty(groups, x.dtype), np.empty(groups, out.dtype)
    return in_sequence(
        copy_step(source.reshape(x.shape), x.array),
        _quantize_rows(source, scales, zero_points, (*groups[:-1], 1), bounds, target, scratch),
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
    """Here the zero point is added before rounding."""
    inverse = np.empty(shape, scales.dtype)
    work = promote(x.dtype, scales.dtype)
    values = scratch.array(x.shape, work)
    return in_sequence(
        ufunc_step(np.reciprocal, (_shaped("scales", scales, shape),), inverse, scales.dtype),
        ufunc_step(np.multiply, (x, inverse), values, work),
        ufunc_step(np.add, (values, _shaped("zero_points", zero_points, shape)), values, work),
        ufunc_step(np.rint, (values,), values, work),
        _clamp_step(values, bounds, out),
    )


def _prepare_quantize(x: Tensor, dtype: int, out: Tensor) -> None:
    require_floating("input", x)
    _require_quantized("out", out, dtype)
    out.resize(x.shape)


def _require_quantized(name: str, tensor: Tensor, dtype: int) -> None:
    require_dtype(name, tensor, QUANTIZED)
    noted = next((DTYPES[each] for each in ScalarType if each == dtype), None)
    require(noted == tensor.dtype, f"{name} is {tensor.dtype.name}, but dtype says {dtype}")


def _clamp_step(values: Array, bounds: tuple[Array, Array], out: Array) -> Step:
    low, high = bounds
    return in_sequence(
        ufunc_step(np.maximum, (values, low), values, values.dtype),
        ufunc_step(np.minimum, (values, high), values, values.dtype),
        copy_step(out, values),
    )


# --- dequantize --------------------------------------------------------------------------


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
    """One scale and zero point for all. Shapes: x (*S), out (*S). Dtypes: quantized, floating."""
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
    """The same with the parameters in tensors of one element."""
    return _dequantize_all(x, _element("scale", scale), _element("zero_point", zero_point), dtype, out)


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
    """The same with the range in tensors, too."""
    return _dequantize_all(x, _element("scale", scale), _element("zero_point", zero_point), dtype, out)


def _dequantize_all(x: Tensor, scale: Array, zero_point: Array, dtype: int, out: Tensor) -> Step:
    """Each result is rounded to out's dtype, also between the two operations."""
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
    """A scale and zero point for each index of one dimension. Shapes: scales and zero_points (C,)."""
    _prepare_dequantize(x, dtype, out)
    return dequantize_step(x.array, scales, zero_points, _channel_shape(x, axis), out.array, scratch)


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
    """A scale and zero point for each row. Shapes: x (*S, N), scales and zero_points (*S, 1)."""
    _prepare_dequantize(x, dtype, out)
    return dequantize_step(x.array, scales, zero_points, _token_shape(x), out.array, scratch)


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
    """The same for each group within a row. Shapes: x (M, N), scales (M, N / group_size)."""
    _prepare_dequantize(x, dtype, out)
    groups = _groups(x, group_size)
    source, target = np.empty(groups, x.dtype), np.empty(groups, out.dtype)
    return in_sequence(
        copy_step(source.reshape(x.shape), x.array),
        dequantize_step(source, scales, zero_points, (*groups[:-1], 1), target, scratch),
        copy_step(out.array, target.reshape(out.shape)),
    )


def dequantize_step(
    x: Array, scales: Tensor, zero_points: Tensor | None, shape: Shape, out: Array, scratch: Scratch
) -> Step:
    """(x - zero_points) * scales, for parameters that broadcast to `x` when seen as `shape`."""
    factors = _shaped("scales", scales, shape)
    if zero_points is None:
        work = promote(x.dtype, scales.dtype)
        product = scratch.array(x.shape, work)
        return in_sequence(ufunc_step(np.multiply, (x, factors), product, work), copy_step(out, product))
    exact = promote(x.dtype, zero_points.dtype)
    work = promote(exact, scales.dtype)
    difference, product = scratch.arrays((x.shape, exact), (x.shape, work))
    return in_sequence(
        ufunc_step(np.subtract, (x, _shaped("zero_points", zero_points, shape)), difference, exact),
        ufunc_step(np.multiply, (difference, factors), product, work),
        copy_step(out, product),
    )


def _prepare_dequantize(x: Tensor, dtype: int, out: Tensor) -> None:
    require_floating("out", out)
    _require_quantized("input", x, dtype)
    out.resize(x.shape)


# --- parameters --------------------------------------------------------------------------


def _element(name: str, tensor: Tensor) -> Array:
    require(tensor.array.size == 1, f"{name} must have one element, but has shape {tensor.shape}")
    return tensor.array.reshape(())


def _shaped(name: str, tensor: Tensor, shape: Shape) -> Array:
    count = math.prod(shape)
    require(tensor.array.size == count, f"{name} must have {count} elements, but has shape {tensor.shape}")
    return tensor.array.reshape(shape)


def _channel_shape(x: Tensor, axis: int) -> Shape:
    axis = dimension(axis, x.array.ndim)
    return tuple(size if each == axis else 1 for each, size in enumerate(x.shape))


def _token_shape(x: Tensor) -> Shape:
    require(x.array.ndim >= 1, "input must have rows, but is a scalar")
    return (*x.shape[:-1], 1)


def _groups(x: Tensor, group_size: int) -> Shape:
    require_rank("input", x, 2)
    rows, columns = x.shape
    require(
        group_size > 1 and columns % group_size == 0,
        f"rows of {columns} elements cannot be split in groups of {group_size}",
    )
    return (rows, columns // group_size, group_size)


KERNELS = KernelTable.of_module(globals())
