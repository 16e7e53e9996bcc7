"""Selection and writing by index tensors, and at constant places."""

from __future__ import annotations

from operator import setitem
from typing import Any

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import dimension, require, require_dtype, require_rank, require_same_dtype
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import KernelTable, OptionalTensors, Scalar, Step, kernel
from etconfig.kernel.step_makers import constant, copy_step, in_sequence, is_empty, write_resized
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.movement.shape import select, slice_of

INDEX_TYPES = frozenset({ScalarType.INT, ScalarType.LONG})


def require_in_range(index: Array, size: int) -> None:
    """Refuse an index tensor with an element outside [0, size)."""
    if index.size and (index.min() < 0 or index.max() >= size):
        outside = index[(index < 0) | (index >= size)].flat[0]
        raise ValueError(f"index {outside} is out of range for size {size}")


@kernel("aten::embedding.out")
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool, out: Tensor
) -> Step:
    """Look up rows of a matrix. Shapes: weight (V, D), indices (*S), out (*S, D)."""
    require(weight.array.ndim == 2, "weight must be a matrix, but has shape {}", weight.shape)
    return _take(weight, indices, 0, out)


@kernel("aten::index_select.out")
def index_select(self: Tensor, dim: int, index: Tensor, out: Tensor) -> Step:
    """Select indices of one dimension. Shapes: index (n,) or ()."""
    require(index.array.ndim <= 1, "index must be a vector, but has shape {}", index.shape)
    axis = dimension(dim, self.array.ndim)
    if self.array.ndim == 0:
        require_same_dtype(self=self, out=out)
        out.resize(())
        return copy_step(out.array, self.array)
    return _take(self, index, axis, out)


def _take(source: Tensor, index: Tensor, axis: int, out: Tensor) -> Step:
    require_same_dtype(source=source, out=out)
    require_dtype("index", index, INDEX_TYPES)
    inner = index.shape or ((1,) if out.array.ndim == source.array.ndim else ())
    out.resize((*source.shape[:axis], *inner, *source.shape[axis + 1 :]))
    return ArrayCall(_take_into, out.array, source.array, index.array.reshape(inner), axis)


def _take_into(target: Array, source: Array, places: Array, axis: int) -> None:
    require_in_range(places, source.shape[axis])
    np.copyto(target, np.take(source, places, axis))


@kernel("aten::index.Tensor_out")
def index_tensor(self: Tensor, indices: OptionalTensors, out: Tensor) -> Step:
    """Select elements by index tensors, which broadcast, or by masks; None selects a whole dimension."""
    require_same_dtype(self=self, out=out)
    key = _key(indices)
    return lambda: write_resized(out, self.array[key])


@kernel("aten::index_put.out")
def index_put(self: Tensor, indices: OptionalTensors, values: Tensor, accumulate: bool, out: Tensor) -> Step:
    """Copy `self`, with `values` written, or added, at index tensors as for `index`."""
    require_same_dtype(self=self, values=values, out=out)
    out.resize(self.shape)
    return in_sequence(copy_step(out.array, self.array), _put(out, indices, values, accumulate))


@kernel("aten::index_put_")
def index_put_in_place(self: Tensor, indices: OptionalTensors, values: Tensor, accumulate: bool) -> Step:
    """Write, or add, `values` in place at index tensors as for `index`."""
    require_same_dtype(self=self, values=values)
    return _put(self, indices, values, accumulate)


def _put(target: Tensor, indices: OptionalTensors, values: Tensor, accumulate: bool) -> Step:
    if accumulate:
        return ArrayCall(np.add.at, target.array, _key(indices), values.array)
    return ArrayCall(setitem, target.array, _key(indices), values.array)


def _key(indices: OptionalTensors) -> tuple[Array | slice, ...]:
    for each in indices:
        if each is not None:
            require_dtype("an index", each, INDEX_TYPES | {ScalarType.BOOL})
    return tuple(slice(None) if each is None else each.array for each in indices)


@kernel("aten::gather.out")
def gather(self: Tensor, dim: int, index: Tensor, sparse_grad: bool, out: Tensor) -> Step:
    """Write out[i][j] = self[index[i][j]][j] for dim 0, and so on. Shapes: index and out (*S)."""
    require_same_dtype(self=self, out=out)
    axis = prepare_along(self, dim, index)
    out.resize(index.shape)
    if is_empty(index):
        return in_sequence()
    source = _along(self.array, index, axis)
    return ArrayCall(_gather_into, np.atleast_1d(out.array), source, np.atleast_1d(index.array), axis)


def _gather_into(target: Array, source: Array, places: Array, axis: int) -> None:
    require_in_range(places, source.shape[axis])
    np.copyto(target, np.take_along_axis(source, places, axis))


@kernel("aten::scatter.src_out")
def scatter(self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor) -> Step:
    """Copy `self`, with out[index[i][j]][j] = src[i][j] for dim 0, and so on."""
    require_same_dtype(self=self, src=src, out=out)
    return _scatter(self, dim, index, corner(src, index), out)


@kernel("aten::scatter.value_out")
def scatter_value(self: Tensor, dim: int, index: Tensor, value: Scalar, out: Tensor) -> Step:
    """Copy `self`, with one value written at the places of `scatter`."""
    require_same_dtype(self=self, out=out)
    return _scatter(self, dim, index, constant(value, out.dtype), out)


def _scatter(self: Tensor, dim: int, index: Tensor, values: Array, out: Tensor) -> Step:
    axis = prepare_along(self, dim, index)
    out.resize(self.shape)
    if is_empty(index):
        return copy_step(out.array, self.array)
    reached, places = _along(out.array, index, axis), np.atleast_1d(index.array)
    return in_sequence(
        ArrayCall(require_in_range, places, reached.shape[axis]),
        copy_step(out.array, self.array),
        ArrayCall(np.put_along_axis, reached, places, values, axis),
    )


@kernel("aten::scatter_add.out")
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor) -> Step:
    """Copy `self`, with src[i][j] added to out[index[i][j]][j] for dim 0, and so on."""
    require_same_dtype(self=self, src=src, out=out)
    axis = prepare_along(self, dim, index)
    out.resize(self.shape)
    if is_empty(index):
        return copy_step(out.array, self.array)
    target, places, values = (
        np.atleast_1d(out.array),
        np.atleast_1d(index.array),
        np.atleast_1d(corner(src, index)),
    )
    key = list(np.ogrid[tuple(slice(size) for size in places.shape)])
    key[axis] = places
    return in_sequence(
        ArrayCall(require_in_range, places, target.shape[axis]),
        copy_step(out.array, self.array),
        ArrayCall(np.add.at, target, tuple(key), values),
    )


def prepare_along(self: Tensor, dim: int, index: Tensor) -> int:
    """Return the dimension that an index of the rank of `self` selects along."""
    require_dtype("index", index, {ScalarType.LONG, ScalarType.INT})
    rank = max(self.array.ndim, 1)
    require(max(index.array.ndim, 1) == rank, "index {} must have the rank of {}", index.shape, self.shape)
    return dimension(dim, self.array.ndim)


def _along(array: Array, index: Tensor, axis: int) -> Array:
    """Return the part of `array` that an index of this shape can reach."""
    array = np.atleast_1d(array)
    places = np.atleast_1d(index.array)
    for each, (size, limit) in enumerate(zip(places.shape, array.shape, strict=True)):
        require(
            each == axis or size <= limit or not places.size, "index {} exceeds {}", index.shape, array.shape
        )
    view: Array = array[
        tuple(slice(None if each == axis else size) for each, size in enumerate(places.shape))
    ]
    return view


def corner(src: Tensor, index: Tensor) -> Array:
    """Return the part of `src` that an index of this shape uses: its first elements in each dimension."""
    fits = src.array.ndim == index.array.ndim and all(map(int.__le__, index.shape, src.shape))
    require(fits, "index {} exceeds src {}", index.shape, src.shape)
    place: tuple[Any, ...] = (..., *map(slice, index.shape))  # the dots keep a scalar a view
    view: Array = src.array[place]
    return view


@kernel("aten::repeat_interleave.Tensor_out")
def repeat_interleave(repeats: Tensor, output_size: int | None, out: Tensor) -> Step:
    """Repeat each index of `repeats` as its element says. Shapes: repeats (N,), out (sum of repeats,).

    `output_size` must be that sum; as in PyTorch, it is ignored if there are no repeats.
    """
    require_dtype("repeats", repeats, INDEX_TYPES)
    require_same_dtype(repeats=repeats, out=out)
    require_rank("repeats", repeats, 1)

    def run() -> None:
        counts = repeats.array
        require(bool((counts >= 0).all()), "repeats must not be negative")
        total = int(counts.sum())
        is_expected = output_size in (None, total) or not counts.size
        require(is_expected, "repeats add up to {}, but output_size is {}", total, output_size)
        out.check_shape((total,))
        write_resized(out, np.repeat(np.arange(len(counts)), counts))

    return run


# --- by constant places ------------------------------------------------------------------


@kernel("aten::select_scatter.out")
def select_scatter(self: Tensor, src: Tensor, dim: int, index: int, out: Tensor) -> Step:
    """Copy `self`, with `src`, in any dtype, written at one index of a dimension."""
    require_same_dtype(self=self, out=out)
    out.resize(self.shape)
    target = select(self, dim, index, out.array)
    require(target.shape == src.shape, "src must have shape {}, not {}", target.shape, src.shape)
    return in_sequence(copy_step(out.array, self.array), copy_step(target, src.array))


@kernel("aten::slice_scatter.out")
def slice_scatter(
    self: Tensor, src: Tensor, dim: int, start: int | None, end: int | None, step: int, out: Tensor
) -> Step:
    """Copy `self`, with `src`, in any dtype, written to a range of a dimension."""
    require_same_dtype(self=self, out=out)
    out.resize(self.shape)
    target = slice_of(self, dim, start, end, step, out.array)
    require(target.shape == src.shape, "src must have shape {}, not {}", target.shape, src.shape)
    return in_sequence(copy_step(out.array, self.array), copy_step(target, src.array))


KERNELS = KernelTable.of_module(globals())
