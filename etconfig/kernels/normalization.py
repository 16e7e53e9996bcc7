"""Normalization over layers and groups. Dtypes: floating, equal."""

from __future__ import annotations

import math

import numpy as np

from etconfig.base.records import record
from etconfig.kernel.checks import require, require_floating, require_same_dtype
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import (
    computation_dtype,
    constant,
    copy_step,
    in_dtype,
    in_sequence,
    is_empty,
    packed,
    viewed_as,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


@record(frozen=True)
class _Layout:
    """The division of a tensor into parts, each of which is normalized by itself.

    Attributes:
        rows: The number of parts and the size of one, in row-major order.
        scaled: The shape of the tensor when weight and bias are applied.
        factors: The shape in which these are broadcast to it.
        statistics: The shape of mean and rstd.
    """

    rows: tuple[int, int]
    scaled: Shape
    factors: Shape
    statistics: Shape


@kernel("aten::native_layer_norm.out")
def native_layer_norm(
    x: Tensor,
    normalized_shape: Ints,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    out: Tensor,
    mean: Tensor,
    rstd: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Normalize over the last dimensions: (x - mean) / sqrt(variance + eps) * weight + bias.

    Shapes: x and out (*B, *normalized_shape), weight and bias (*normalized_shape), mean and
    rstd (*B, 1, ...).
    """
    lead = x.array.ndim - len(normalized_shape)
    require(
        lead >= 0 and x.shape[lead:] == normalized_shape, "{} does not end in {}", x.shape, normalized_shape
    )
    _check_factors(normalized_shape, weight, bias)
    rows = (math.prod(x.shape[:lead]), math.prod(normalized_shape))
    statistics = (*x.shape[:lead], *(1 for _ in normalized_shape))
    return _normalize(
        x, weight, bias, eps, (out, mean, rstd), _Layout(rows, rows, rows[1:], statistics), scratch
    )


@kernel("aten::native_group_norm.out")
def native_group_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    batch: int,
    channels: int,
    area: int,
    groups: int,
    eps: float,
    out: Tensor,
    mean: Tensor,
    rstd: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Normalize over each group of channels of each image.

    Shapes: x and out (batch, channels, *S) with `area` elements in S, weight and bias
    (channels,), mean and rstd (batch, groups).
    """
    is_shaped = x.shape[:2] == (batch, channels) and math.prod(x.shape[2:]) == area
    require(is_shaped, "{} is not ({}, {}, ...) with {} elements in the rest", x.shape, batch, channels, area)
    require(
        groups > 0 and channels % groups == 0, "{} channels cannot be split in {} groups", channels, groups
    )
    _check_factors((channels,), weight, bias)
    rows = (batch * groups, channels // groups * area)
    layout = _Layout(rows, (batch, channels, area), (channels, 1), (batch, groups))
    return _normalize(x, weight, bias, eps, (out, mean, rstd), layout, scratch)


def _check_factors(shape: Shape, *factors: Tensor | None) -> None:
    for each in factors:
        require(each is None or each.shape == shape, "weight and bias must have shape {}", shape)


def _normalize(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    outs: tuple[Tensor, Tensor, Tensor],
    layout: _Layout,
    scratch: Scratch,
) -> Step:
    out, mean, rstd = outs
    require_floating("input", x)
    require_same_dtype(input=x, weight=weight, bias=bias, out=out, mean=mean, rstd=rstd)
    out.resize(x.shape)
    mean.resize(layout.statistics)
    rstd.resize(layout.statistics)
    if is_empty(mean) and is_empty(out):
        return in_sequence()
    dtype = computation_dtype(x.dtype)
    means, inverses = np.empty(layout.rows[:1], dtype), np.empty(layout.rows[:1], dtype)

    def passes(x: Array, *rest: Array) -> Step:
        *factors, out = rest
        source, packing = packed(x, layout.rows, scratch)
        result, squares = scratch.arrays((layout.rows, dtype), (layout.rows, dtype))
        size = layout.rows[1]
        average = np.full(size, 1 / max(size, 1), dtype)
        scaled = result.reshape(layout.scaled)
        scaling = [
            ArrayCall(ufunc, scaled, viewed_as(factor, layout.factors), scaled)
            for ufunc, factor in zip(ufuncs, factors, strict=True)
        ]
        return in_sequence(
            *packing,
            ArrayCall(np.matmul, source, average, means),
            ArrayCall(np.subtract, source, means[:, np.newaxis], result),
            ArrayCall(np.multiply, result, result, squares),
            ArrayCall(np.matmul, squares, average, inverses),
            # as in PyTorch, the variance of no elements is 0
            ArrayCall(np.add, inverses, constant(eps if size else math.nan, dtype), inverses),
            ArrayCall(np.sqrt, inverses, inverses),
            ArrayCall(np.reciprocal, inverses, inverses),
            ArrayCall(np.multiply, result, inverses[:, np.newaxis], result),
            *scaling,
            copy_step(out, result.reshape(out.shape)),
        )

    present = [(ufunc, each) for ufunc, each in ((np.multiply, weight), (np.add, bias)) if each is not None]
    ufuncs = [ufunc for ufunc, _ in present]
    return in_sequence(
        in_dtype(dtype, [x.array, *(each.array for _, each in present)], out.array, passes, scratch),
        copy_step(mean.array, means.reshape(layout.statistics)),
        copy_step(rstd.array, inverses.reshape(layout.statistics)),
    )


KERNELS = KernelTable.of_module(globals())
