"""Sorted elements along a dimension: orders, the largest, k-th values, medians and most frequent values.

Reductions give shapes without the dimension, or with size 1 there with `keepdim`.
Dtypes: self and values equal, indices int64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import dimension, is_floating, require, require_dtype, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Kernel, KernelTable, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, copy_step, in_sequence, is_empty
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor


@kernel("aten::topk.values")
def topk(
    self: Tensor, k: int, dim: int, largest: bool, is_sorted: bool, values: Tensor, indices: Tensor
) -> Step:
    """Find the k largest or smallest elements along a dimension, in order, and their indices."""
    require_same_dtype(self=self, values=values)
    require_dtype("indices", indices, {ScalarType.LONG})
    axis = dimension(dim, self.array.ndim)
    x = np.atleast_1d(self.array)
    require(0 <= k <= x.shape[axis], "there are no {} elements along dimension {} of {}", k, dim, self.shape)
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :]) if self.array.ndim else ()
    values.resize(shape)
    indices.resize(shape)

    def run(x: Array, values: Array, indices: Array) -> None:
        order = ascending(x, axis)
        order = np.flip(order, axis) if largest else order
        chosen = np.take(order, range(k), axis)
        np.copyto(indices, chosen.reshape(shape))
        np.copyto(values, np.take_along_axis(x, chosen, axis).reshape(shape))

    return ArrayCall(run, x, values.array, indices.array)


def ascending(x: Array, axis: int) -> Array:
    """Return the indices that sort `x` along a dimension: NaN last, equal elements in their order."""
    # sorting bfloat16 treats NaN as a number
    order: Array = np.argsort(x.astype(computation_dtype(x.dtype), copy=False), axis=axis, kind="stable")
    return order


@kernel("aten::sort.values")
def sort(self: Tensor, dim: int, descending: bool, values: Tensor, indices: Tensor) -> Step:
    """Sort along a dimension, and write each element's index; NaN is the largest, ties keep their order."""
    require_same_dtype(self=self, values=values)
    require_dtype("indices", indices, {ScalarType.LONG})
    axis = dimension(dim, self.array.ndim)
    values.resize(self.shape)
    indices.resize(self.shape)
    if is_empty(self):
        return in_sequence()

    def run(x: Array, values: Array, indices: Array) -> None:
        if descending:  # sorted backwards and turned, so that ties keep their order
            order = x.shape[axis] - 1 - np.flip(ascending(np.flip(x, axis), axis), axis)
        else:
            order = ascending(x, axis)
        np.copyto(indices, order)
        np.copyto(values, np.take_along_axis(x, order, axis))

    return ArrayCall(run, *map(np.atleast_1d, (self.array, values.array, indices.array)))


@kernel("aten::sort.values_stable")
def sort_stable(
    self: Tensor, stable: bool | None, dim: int, descending: bool, values: Tensor, indices: Tensor
) -> Step:
    """Sort as `sort`, which always is stable."""
    step: Step = sort.binder(self, dim, descending, values, indices)
    return step


Choice: TypeAlias = Callable[[Array], Array]
"""Chooses one index along the last axis of (*S, n), which has elements: (*S, 1)."""


def _chosen(choose: Choice, self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> Step:
    require_same_dtype(self=self, values=values)
    require_dtype("indices", indices, {ScalarType.LONG})
    axis = dimension(dim, self.array.ndim)
    x = np.atleast_1d(self.array)
    require(x.shape[axis] > 0, "dimension {} of {} has no elements to choose from", dim, self.shape)
    kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    shape = kept if keepdim else (*kept[:axis], *kept[axis + 1 :])
    shape = shape if self.array.ndim else ()
    values.resize(shape)
    indices.resize(shape)

    def run(x: Array, values: Array, indices: Array) -> None:
        if not values.size:  # no row to choose from, however long rows are
            return
        rows = np.moveaxis(x, axis, -1)
        places = choose(rows)
        found = np.take_along_axis(rows, places, -1)
        np.copyto(indices, np.moveaxis(places, -1, axis).reshape(shape))
        np.copyto(values, np.moveaxis(found, -1, axis).reshape(shape))

    return ArrayCall(run, x, values.array, indices.array)


def is_nan(x: Array) -> Array:
    """Return where elements are NaN; nowhere among integers."""
    found: Array = np.isnan(x) if is_floating(x.dtype) else np.zeros(x.shape, np.bool_)
    return found


def median_places(x: Array) -> Array:
    """Return the index of the lower median; NaN wins."""
    is_any_nan = is_nan(x)
    middle = ascending(x, -1)[..., (x.shape[-1] - 1) // 2, np.newaxis]
    return np.where(is_any_nan.any(-1, keepdims=True), is_any_nan.argmax(-1, keepdims=True), middle)


def nanmedian_places(x: Array) -> Array:
    """Return the index of the lower median of all elements but NaN, unless all are NaN."""
    counts = x.shape[-1] - is_nan(x).sum(-1, keepdims=True)
    places: Array = np.take_along_axis(ascending(x, -1), np.maximum(counts - 1, 0) // 2, -1)
    return places


def mode_places(x: Array) -> Array:
    """Return the last index of the most frequent element; of several, of the smallest."""
    order = ascending(x, -1)
    ordered = np.take_along_axis(x, order, -1)
    is_new = np.ones(x.shape, np.bool_)
    is_new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    count = np.arange(x.shape[-1])
    run_lengths = count - np.maximum.accumulate(np.where(is_new, count, 0), -1)
    places: Array = np.take_along_axis(order, run_lengths.argmax(-1, keepdims=True), -1)
    return places


def _along(name: str, choose: Choice) -> Kernel:
    def bind(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> Step:
        return _chosen(choose, self, dim, keepdim, values, indices)

    return Kernel((name,), bind)


def _of_all(name: str, choose: Choice) -> Kernel:
    """Return the kernel that chooses one of all elements; without any, it gives NaN."""

    def bind(self: Tensor, out: Tensor) -> Step:
        require_same_dtype(self=self, out=out)
        out.resize(())
        if not self.array.size:
            require(is_floating(self.dtype), "shape {} has no elements to choose from", self.shape)
            return copy_step(out.array, np.array(np.nan, self.dtype))

        def run(x: Array, out: Array) -> None:
            rows = x.reshape(-1)
            np.copyto(out, rows[choose(rows)[0]])

        return ArrayCall(run, self.array, out.array)

    return Kernel((name,), bind)


@kernel("aten::kthvalue.values")
def kthvalue(self: Tensor, k: int, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> Step:
    """Find the k-th smallest element along a dimension, counted from 1; NaN is the largest."""
    count = self.shape[dimension(dim, self.array.ndim)] if self.array.ndim else 1
    require(1 <= k <= count, "there is no element {} along dimension {} of {}", k, dim, self.shape)
    return _chosen(lambda x: ascending(x, -1)[..., k - 1, np.newaxis], self, dim, keepdim, values, indices)


ALONG_A_DIMENSION = (
    _along("aten::median.dim_values", median_places),
    _along("aten::nanmedian.dim_values", nanmedian_places),
    _along("aten::mode.values", mode_places),
)

OF_ALL = (
    _of_all("aten::median.out", median_places),
    _of_all("aten::nanmedian.out", nanmedian_places),
)

KERNELS = KernelTable.of_module(globals())
