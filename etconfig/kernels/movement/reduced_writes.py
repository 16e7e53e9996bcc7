"""Writes to places that may repeat: added, multiplied, averaged, or the extreme kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from etconfig.kernel.checks import dimension, is_floating, require, require_dtype, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import DType, computation_dtype, copy_step, in_sequence, is_empty
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.movement.indexing import INDEX_TYPES, corner, prepare_along, require_in_range
from etconfig.kernels.movement.shape import strided_view

REDUCTIONS = {"sum": np.add, "prod": np.multiply, "mean": np.add, "amax": np.maximum, "amin": np.minimum}


@kernel("aten::scatter_reduce.two_out")
def scatter_reduce(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, out: Tensor
) -> Step:
    """Copy `self`, with src[i][j] reduced into out[index[i][j]][j] for dim 0, and so on.

    `reduce` is sum, prod, mean, amax or amin; without `include_self`, the old elements do not count.
    """
    require_same_dtype(self=self, src=src, out=out)
    require(reduce in REDUCTIONS, "reduce must be one of {}, not {!r}", ", ".join(REDUCTIONS), reduce)
    axis = prepare_along(self, dim, index)
    out.resize(self.shape)
    if is_empty(index):
        return copy_step(out.array, self.array)
    target, places, values = map(np.atleast_1d, (out.array, index.array, corner(src, index)))
    key: list[Any] = list(np.ogrid[tuple(map(slice, places.shape))])
    key[axis] = places
    return in_sequence(
        ArrayCall(require_in_range, places, target.shape[axis]),
        copy_step(out.array, self.array),
        ArrayCall(_reduce_at, target, tuple(key), values, reduce, include_self),
    )


@kernel("aten::index_reduce.out")
def index_reduce(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, out: Tensor
) -> Step:
    """Copy `self`, with row i of `source` reduced into row index[i] of a dimension.

    `reduce` is prod, mean, amax or amin. Shapes: self (*S), index (n,), source as self, but of size n at
    `dim`.
    """
    require_same_dtype(self=self, source=source, out=out)
    require(
        reduce in REDUCTIONS and reduce != "sum", "reduce must be prod, mean, amax or amin, not {!r}", reduce
    )
    require_dtype("index", index, INDEX_TYPES)
    require(index.array.ndim <= 1, "index must be a vector, but has shape {}", index.shape)
    axis = dimension(dim, self.array.ndim)
    target, places = np.atleast_1d(self.array), np.atleast_1d(index.array)
    shape = (*target.shape[:axis], places.size, *target.shape[axis + 1 :])
    require(
        np.atleast_1d(source.array).shape == shape, "source must have shape {}, not {}", shape, source.shape
    )
    out.resize(self.shape)
    key = (*(slice(None) for _ in range(axis)), places)
    return in_sequence(
        ArrayCall(require_in_range, places, target.shape[axis]),
        copy_step(out.array, self.array),
        ArrayCall(
            _reduce_at, np.atleast_1d(out.array), key, np.atleast_1d(source.array), reduce, include_self
        ),
    )


def _reduce_at(target: Array, key: Any, values: Array, reduce: str, include_self: bool) -> None:
    dtype = computation_dtype(target.dtype)
    total = target.astype(dtype)
    if not include_self:
        total[key] = _neutral(reduce, dtype)
    REDUCTIONS[reduce].at(total, key, values.astype(dtype, copy=False))
    if reduce == "mean":
        counts = np.full(total.shape, int(include_self), np.int64)
        is_reached = np.zeros(total.shape, np.bool_)
        is_reached[key] = True
        np.add.at(counts, key, 1)
        divide = np.divide if is_floating(dtype) else np.floor_divide
        divide(total, np.maximum(counts, 1), out=total, where=is_reached, casting="unsafe")
    np.copyto(target, total, casting="unsafe")


def _neutral(reduce: str, dtype: DType) -> Array:
    """Return the number that changes no other in a reduction."""
    if reduce in ("sum", "mean", "prod"):
        return np.array(int(reduce == "prod"), dtype)
    if is_floating(dtype):
        return np.array(-np.inf if reduce == "amax" else np.inf, dtype)
    limits = (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return np.array(limits[int(reduce == "amin")], dtype)


# --- by numbers ----------------------------------------------------------------------------


@kernel("aten::put.out")
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool, out: Tensor) -> Step:
    """Copy `self`, with `source` written, or added, at places counted in row-major order.

    Shapes: index and source of as many elements. Negative places count from the end.
    """
    require_same_dtype(self=self, source=source, out=out)
    require_dtype("index", index, INDEX_TYPES)
    require(
        index.array.size == source.array.size,
        "index {} and source {} differ in size",
        index.shape,
        source.shape,
    )
    out.resize(self.shape)
    return in_sequence(
        copy_step(out.array, self.array),
        ArrayCall(_put_flat, out.array, index.array, source.array, accumulate),
    )


def _put_flat(target: Array, index: Array, source: Array, accumulate: bool) -> None:
    places = index.reshape(-1)
    require_in_range(np.where(places < 0, places + target.size, places), target.size)
    flat = target.reshape(-1).copy()
    if accumulate:
        np.add.at(flat, places, source.reshape(-1))
    else:
        flat[places] = source.reshape(-1)
    np.copyto(target, flat.reshape(target.shape))


@kernel("aten::diagonal_scatter.out")
def diagonal_scatter(self: Tensor, src: Tensor, offset: int, dim1: int, dim2: int, out: Tensor) -> Step:
    """Copy `self`, with `src` written to the diagonal of two dimensions."""
    require_same_dtype(self=self, src=src, out=out)
    rank = self.array.ndim
    out.resize(self.shape)
    target = np.diagonal(out.array, offset, dimension(dim1, rank), dimension(dim2, rank))
    require(target.shape == src.shape, "src must have shape {}, not {}", target.shape, src.shape)
    target.flags.writeable = out.array.flags.writeable
    return in_sequence(copy_step(out.array, self.array), copy_step(target, src.array))


@kernel("aten::as_strided_scatter.out")
def as_strided_scatter(
    self: Tensor, src: Tensor, size: Ints, stride: Ints, storage_offset: int | None, out: Tensor
) -> Step:
    """Copy `self`, with `src` written at the given strides, counted in elements."""
    require_same_dtype(self=self, src=src, out=out)
    out.resize(self.shape)
    target = strided_view(out.array, size, stride, storage_offset)
    require(target.shape == src.shape, "src must have shape {}, not {}", target.shape, src.shape)
    return in_sequence(copy_step(out.array, self.array), copy_step(target, src.array))


KERNELS = KernelTable.of_module(globals())
