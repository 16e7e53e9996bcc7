"""Kernels that sort."""

from __future__ import annotations

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import dimension, require, require_dtype, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import KernelTable, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, in_sequence, is_empty
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


KERNELS = KernelTable.of_module(globals())
