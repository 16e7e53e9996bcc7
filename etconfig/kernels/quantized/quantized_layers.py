"""Embeddings, products and sums of quantized operands."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import (
    promote,
    require,
    require_dtype,
    require_floating,
    require_rank,
    require_same_dtype,
)
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import Kernel, KernelTable, Step, kernel
from etconfig.kernel.step_makers import FLOAT32, copy_step, in_sequence, ufunc_step
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.movement.indexing import INDEX_TYPES, require_in_range

# --- embeddings --------------------------------------------------------------------------


def _unpack_bytes(rows: Array) -> Array:
    return rows


def _unpack_4bit(rows: Array) -> Array:
    """Unpack two numbers a byte, the higher half first, each 8 too large."""
    return _interleaved(8, rows >> 4, rows & 15)


def _unpack_2bit(rows: Array) -> Array:
    """Unpack four numbers a byte, the lowest bits first, each 2 too large."""
    return _interleaved(2, rows & 3, rows >> 2 & 3, rows >> 4 & 3, rows >> 6)


def _interleaved(excess: int, *parts: Array) -> Array:
    *lead, columns = parts[0].shape
    numbers: Array = np.stack(parts, -1).reshape(*lead, columns * len(parts)).astype(np.int8)
    numbers -= np.int8(excess)
    return numbers


def _embedding(name: str, unpack: Callable[[Array], Array], per_byte: int) -> tuple[Kernel, Kernel]:
    """Return the kernels that look up rows of a quantized matrix and dequantize them.

    Shapes: weight (V, D / per_byte), scales and zero points (V,) or (V, groups), indices (*S), out (*S, D).
    Dtypes: weight int8 or uint8 (uint8 where it is packed), scales, zero points and out floating.
    """
    packed_types = {ScalarType.BYTE} if per_byte > 1 else {ScalarType.BYTE, ScalarType.CHAR}

    def bind(
        weight: Tensor,
        weight_scales: Tensor,
        weight_zero_points: Tensor | None,
        weight_quant_min: int,
        weight_quant_max: int,
        indices: Tensor,
        out: Tensor,
    ) -> Step:
        require_dtype("weight", weight, packed_types)
        require_dtype("indices", indices, INDEX_TYPES)
        require_rank("weight", weight, 2)
        require_floating("weight_scales", weight_scales)
        require_floating("out", out)
        columns = weight.shape[1] * per_byte
        scales = _per_group("weight_scales", weight_scales, weight.shape[0], columns)
        zeros = None
        if weight_zero_points is not None:
            zeros = _per_group("weight_zero_points", weight_zero_points, weight.shape[0], columns)
            require(zeros.shape == scales.shape, "weight_scales and weight_zero_points differ in shape")
        out.resize((*indices.shape, columns))
        groups = scales.shape[1]

        def run(weight: Array, scales: Array, zeros: Array | None, places: Array, out: Array) -> None:
            require_in_range(places, len(weight))
            values = unpack(weight[places]).reshape(*places.shape, groups, columns // groups)
            if zeros is not None:
                exact = promote(values.dtype, zeros.dtype)
                values = values.astype(exact) - zeros[places].astype(exact)
            work = promote(values.dtype, scales.dtype)
            real = values.astype(work) * scales[places].astype(work)
            np.copyto(out, real.reshape(out.shape), casting="unsafe")

        return ArrayCall(run, weight.array, scales, zeros, indices.array, out.array)

    def bind_with_dtype(
        weight: Tensor,
        weight_scales: Tensor,
        weight_zero_points: Tensor | None,
        weight_quant_min: int,
        weight_quant_max: int,
        indices: Tensor,
        dtype: int | None,
        out: Tensor,
    ) -> Step:
        return bind(
            weight, weight_scales, weight_zero_points, weight_quant_min, weight_quant_max, indices, out
        )

    return Kernel((f"{name}.out",), bind), Kernel((f"{name}.dtype_out",), bind_with_dtype)


def _per_group(name: str, tensor: Tensor, rows: int, columns: int) -> Array:
    """Return a view (rows, groups, 1) of parameters that each row has, or each group in it."""
    require_rank(name, tensor, 1, 2)
    groups = math.prod(tensor.shape[1:])
    require(
        tensor.shape[0] == rows and groups > 0 and columns % groups == 0,
        "{} {} does not fit {} rows of {} elements",
        name,
        tensor.shape,
        rows,
        columns,
    )
    return tensor.array.reshape(rows, groups, 1)


EMBEDDINGS = (
    *_embedding("quantized_decomposed::embedding_byte", _unpack_bytes, per_byte=1),
    *_embedding("quantized_decomposed::embedding_4bit", _unpack_4bit, per_byte=2),
    *_embedding("quantized_decomposed::embedding_2bit", _unpack_2bit, per_byte=4),
)


# --- products ----------------------------------------------------------------------------


@kernel("quantized_decomposed::mixed_mm.out")
def mixed_mm(
    x: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Compute x @ (weight * scales). Shapes: x (M, K), weight (K, N), weight_scales (K,), out (M, N)."""
    require_same_dtype(input=x, weight_scales=weight_scales, out=out)
    _prepare_product(x, weight, weight_zero_points, out)
    require(x.shape[1] == weight.shape[0], "{} and {} cannot be multiplied", x.shape, weight.shape)
    scales = _per_group("weight_scales", weight_scales, weight.shape[0], weight.shape[1])
    require(scales.shape[1] == 1, "weight_scales {} must have one element a row", weight_scales.shape)
    out.resize((x.shape[0], weight.shape[1]))
    return _product_step(x, weight, scales, out, scratch, is_transposed=False)


@kernel("quantized_decomposed::mixed_linear.out")
def mixed_linear(
    x: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    dtype: int | None,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Compute x @ (weight * scales).T. Shapes: x (M, K), weight (N, K), scales (N,) or (N, groups)."""
    require_same_dtype(input=x, weight_scales=weight_scales)
    _prepare_product(x, weight, weight_zero_points, out)
    require(x.shape[1] == weight.shape[1], "{} and {} cannot be multiplied", x.shape, weight.shape)
    scales = _per_group("weight_scales", weight_scales, weight.shape[0], weight.shape[1])
    out.resize((x.shape[0], weight.shape[0]))
    return _product_step(x, weight, scales, out, scratch, is_transposed=True)


def _prepare_product(x: Tensor, weight: Tensor, zero_points: Tensor | None, out: Tensor) -> None:
    require_rank("input", x, 2)
    require_rank("weight", weight, 2)
    require_floating("input", x)
    require_floating("out", out)
    require_dtype("weight", weight, {ScalarType.CHAR})
    require(zero_points is None, "weight_zero_points are not supported, nor does ExecuTorch support them")


def _product_step(
    x: Tensor, weight: Tensor, scales: Array, out: Tensor, scratch: Scratch, *, is_transposed: bool
) -> Step:
    """Return the step of a product whose weight is dequantized at each run, in memory that layers share."""
    real, product, converted = scratch.arrays(*((each.shape, FLOAT32) for each in (weight, out, x)))
    grouped = (*scales.shape[:2], weight.shape[1] // scales.shape[1])
    source = x.array if x.dtype == FLOAT32 else converted
    steps = [] if source is x.array else [copy_step(source, x.array)]
    return in_sequence(
        *steps,
        copy_step(real, weight.array),
        ufunc_step(np.multiply, (real.reshape(grouped), scales), real.reshape(grouped), FLOAT32),
        ArrayCall(np.matmul, source, real.T if is_transposed else real, product),
        copy_step(out.array, product),
    )


# --- sums --------------------------------------------------------------------------------


@kernel("quantized_decomposed::add.out")
def quantized_add(
    a: Tensor,
    a_scale: float,
    a_zero_point: int,
    a_quant_min: int,
    a_quant_max: int,
    b: Tensor,
    b_scale: float,
    b_zero_point: int,
    b_quant_min: int,
    b_quant_max: int,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Add two quantized tensors, and quantize the sum. Shapes: equal. Dtypes: int8 or uint8, equal."""
    require_same_dtype(a=a, b=b, out=out)
    require_dtype("a", a, {ScalarType.BYTE, ScalarType.CHAR})
    require(a.shape == b.shape, "a {} and b {} differ in shape", a.shape, b.shape)
    require(out_scale != 0, "out_scale must not be 0")
    out.resize(a.shape)
    total, addend = scratch.arrays((a.shape, FLOAT32), (a.shape, FLOAT32))

    def real(x: Tensor, zero_point: int, scale: float, target: Array) -> Step:
        return in_sequence(
            ufunc_step(np.subtract, (x.array, np.float32(zero_point)), target, FLOAT32),
            ArrayCall(np.multiply, target, np.float32(scale), target),
        )

    return in_sequence(
        real(a, a_zero_point, a_scale, total),
        real(b, b_zero_point, b_scale, addend),
        ArrayCall(np.add, total, addend, total),
        ArrayCall(np.multiply, total, np.float32(1) / np.float32(out_scale), total),
        ArrayCall(np.rint, total, total),
        ArrayCall(np.add, total, np.float32(out_zero_point), total),
        ArrayCall(np.clip, total, out_quant_min, out_quant_max, total),
        copy_step(out.array, total),
    )


KERNELS = KernelTable.of_module(globals())
