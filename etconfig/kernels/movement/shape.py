"""Copies of views: the same elements in another shape, order or selection.

Dtypes: out's equals self's. Shapes: out has the view's shape.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from etconfig.kernel.checks import (
    broadcast_shape,
    dimension,
    dimensions,
    require,
    require_rank,
    require_same_dtype,
)
from etconfig.kernel.memory import Array, Shape
from etconfig.kernel.registry import Ints, KernelTable, Step, TensorAlias, kernel
from etconfig.kernel.step_makers import copy_step, reshaped_copy_step, viewed_as
from etconfig.kernel.steps import ArrayCall, MakeAlias
from etconfig.kernel.tensor import Tensor


def _copy_view(self: Tensor, view: Array, out: Tensor) -> Step:
    require_same_dtype(self=self, out=out)
    out.resize(view.shape)
    return copy_step(out.array, view)


@kernel("aten::view_copy.out", takes_any_strides=True)
def view_copy(self: Tensor, size: Ints, out: Tensor) -> Step:
    """Copy the elements in row-major order to another shape; one size may be -1."""
    require_same_dtype(self=self, out=out)
    out.resize(view_shape(self.shape, size))
    return reshaped_copy_step(out.array, self.array)


@kernel("aten::view_copy.dtype_out")
def view_copy_dtype(self: Tensor, dtype: int, out: Tensor) -> Step:
    """Copy the bytes as elements of another dtype; the last dimension grows or shrinks with its size.

    `dtype` is the number of the scalar type. Shapes: self (*S, n), out (*S, m) of as many bytes.
    """
    require(dtype == out.scalar_type, "out is {}, but the dtype is {}", out.scalar_type.dtype_name, dtype)
    old, new = self.dtype.itemsize, out.dtype.itemsize
    require(old == new or self.array.ndim > 0, "a scalar cannot be viewed in a size of {} bytes", new)
    if old == new:
        out.resize(self.shape)
    else:
        row = self.shape[-1] * old
        require(row % new == 0, "rows of {} bytes are not whole elements of {} bytes", row, new)
        out.resize((*self.shape[:-1], row // new))
    target, source = out.array, self.array
    if target.flags.c_contiguous and source.flags.c_contiguous:
        return copy_step(target.view(self.dtype).reshape(source.shape), source)
    return ArrayCall(_copy_bytes, target, source)


def _copy_bytes(target: Array, source: Array) -> None:
    np.copyto(target, np.ascontiguousarray(source).view(target.dtype).reshape(target.shape))


@kernel("executorch_prim::et_view.default")
def et_view(self: Tensor, size: Ints, out: TensorAlias) -> Step:
    """Make `out` a view of the memory of `self`, without a copy."""
    require_same_dtype(self=self, out=out)
    shape = view_shape(self.shape, size)
    out.check_shape(shape)
    require(self.array.flags.c_contiguous, "only memory in row-major order can be viewed in another shape")
    return MakeAlias(out, self.array.reshape(shape))


def view_shape(shape: Shape, size: Ints) -> Shape:
    """Return `size` with the missing size in place of its -1, if any.

    Raises:
        ValueError: the sizes do not agree.
    """
    count, known, least = math.prod(shape), math.prod(size), min(size, default=0)
    if least >= 0 and count == known:
        return size
    if least == -1 and size.count(-1) == 1 and known < 0 and count % known == 0:
        place = size.index(-1)
        return (*size[:place], count // -known, *size[place + 1 :])
    raise ValueError(f"{count} elements of shape {shape} cannot be viewed as {size}")


@kernel("aten::permute_copy.out", takes_any_strides=True)
def permute_copy(self: Tensor, dims: Ints, out: Tensor) -> Step:
    """Permute dimensions: dimension i of out is dimension dims[i] of self."""
    rank = self.array.ndim
    if len(dims) != rank:
        raise ValueError(f"{dims} is not a permutation of {rank} dimensions")
    return _copy_view(self, self.array.transpose(dimensions(dims, rank)), out)


@kernel("aten::transpose_copy.int_out", takes_any_strides=True)
def transpose_copy(self: Tensor, dim0: int, dim1: int, out: Tensor) -> Step:
    """Swap two dimensions."""
    rank = self.array.ndim
    first, second = dimension(dim0, rank), dimension(dim1, rank)
    return _copy_view(self, self.array if rank == 0 else self.array.swapaxes(first, second), out)


@kernel("aten::t_copy.out", takes_any_strides=True)
def t_copy(self: Tensor, out: Tensor) -> Step:
    """Transpose a matrix; a vector stays as it is."""
    require_rank("self", self, 0, 1, 2)
    return _copy_view(self, self.array.T, out)


@kernel("aten::expand_copy.out", takes_any_strides=True)
def expand_copy(self: Tensor, size: Ints, implicit: bool, out: Tensor) -> Step:
    """Broadcast to `size`, in which -1 keeps a dimension."""
    added = len(size) - self.array.ndim
    current = (-1,) * added + self.shape
    shape = tuple([old if new == -1 else new for old, new in zip(current, size, strict=False)])
    if added < 0 or min(shape, default=0) < 0 or broadcast_shape(self.shape, shape) != shape:
        raise ValueError(f"{self.shape} cannot be expanded to {size}")
    require_same_dtype(self=self, out=out)
    out.resize(shape)
    return copy_step(out.array, self.array)


@kernel("aten::unsqueeze_copy.out", takes_any_strides=True)
def unsqueeze_copy(self: Tensor, dim: int, out: Tensor) -> Step:
    """Add a dimension of size 1 before `dim`."""
    axis = dimension(dim, self.array.ndim + 1)
    return _copy_view(self, self.array[(slice(None),) * axis + (np.newaxis, ...)], out)


@kernel("aten::squeeze_copy.dim_out", takes_any_strides=True)
def squeeze_copy_dim(self: Tensor, dim: int, out: Tensor) -> Step:
    """Remove one dimension if its size is 1."""
    return _squeeze(self, (dim,), out)


@kernel("aten::squeeze_copy.dims_out", takes_any_strides=True)
def squeeze_copy_dims(self: Tensor, dim: Ints, out: Tensor) -> Step:
    """Remove the listed dimensions whose size is 1."""
    return _squeeze(self, dim, out)


def _squeeze(self: Tensor, dims: Ints, out: Tensor) -> Step:
    removed = {dimension(each, self.array.ndim) for each in dims}
    kept = [size for each, size in enumerate(self.shape) if each not in removed or size != 1]
    return _copy_view(self, viewed_as(self.array, tuple(kept)), out)


@kernel("aten::select_copy.int_out", takes_any_strides=True)
def select_copy(self: Tensor, dim: int, index: int, out: Tensor) -> Step:
    """Select one index of a dimension, which is removed."""
    return _copy_view(self, select(self, dim, index, self.array), out)


def select(self: Tensor, dim: int, index: int, array: Array) -> Array:
    """Return the view of `array`, shaped as self, at one index of a dimension."""
    axis = dimension(dim, self.array.ndim)
    require(self.array.ndim > 0, "a scalar has nothing to select from")
    size = self.shape[axis]
    if not -size <= index < size:
        raise ValueError(f"index {index} is out of range for size {size}")
    view: Array = array[(slice(None),) * axis + (index, ...)]  # the dots keep a single element a view
    return view


@kernel("aten::slice_copy.Tensor_out", takes_any_strides=True)
def slice_copy(self: Tensor, dim: int, start: int | None, end: int | None, step: int, out: Tensor) -> Step:
    """Select a range of a dimension; `start` and `end` are clamped."""
    return _copy_view(self, slice_of(self, dim, start, end, step, self.array), out)


def slice_of(self: Tensor, dim: int, start: int | None, end: int | None, step: int, array: Array) -> Array:
    """Return the view of `array`, shaped as self, of a range of a dimension."""
    axis = dimension(dim, self.array.ndim)
    require(self.array.ndim > 0, "a scalar cannot be sliced")
    if step <= 0:
        raise ValueError(f"step must be positive, not {step}")
    view: Array = array[(slice(None),) * axis + (slice(start, end, step),)]
    return view


@kernel("aten::narrow_copy.out", takes_any_strides=True)
def narrow_copy(self: Tensor, dim: int, start: int, length: int, out: Tensor) -> Step:
    """Select `length` indices of a dimension, from `start` on."""
    size = self.shape[dimension(dim, self.array.ndim)]
    first = start + size if start < 0 else start
    require(length >= 0 and 0 <= first <= size - length, "{} + {} exceeds the size {}", start, length, size)
    return _copy_view(self, slice_of(self, dim, first, first + length, 1, self.array), out)


@kernel("aten::diagonal_copy.out")
def diagonal_copy(self: Tensor, offset: int, dim1: int, dim2: int, out: Tensor) -> Step:
    """Select the diagonal of two dimensions, as the last dimension."""
    rank = self.array.ndim
    return _copy_view(
        self, np.diagonal(self.array, offset, dimension(dim1, rank), dimension(dim2, rank)), out
    )


@kernel("aten::unfold_copy.out")
def unfold_copy(self: Tensor, dim: int, size: int, step: int, out: Tensor) -> Step:
    """Copy windows of `size` along a dimension, every `step`; the window is the last dimension."""
    axis = dimension(dim, self.array.ndim)
    require(step > 0, "step must be positive, not {}", step)
    windows = sliding_window_view(self.array, size, axis)
    return _copy_view(self, windows[(slice(None),) * axis + (slice(None, None, step),)], out)


@kernel("aten::as_strided_copy.out")
def as_strided_copy(self: Tensor, size: Ints, stride: Ints, storage_offset: int | None, out: Tensor) -> Step:
    """Copy the elements at the given strides, counted in elements, in the memory of `self`."""
    return _copy_view(self, strided_view(self.array, size, stride, storage_offset), out)


def strided_view(array: Array, size: Ints, stride: Ints, storage_offset: int | None) -> Array:
    """Return the view of `array`, in row-major order, at the given strides, counted in elements."""
    start = storage_offset or 0
    require(len(size) == len(stride), "size {} and stride {} differ in length", size, stride)
    require(min((start, *size, *stride)) >= 0, "size, stride and storage_offset must not be negative")
    require(array.flags.c_contiguous, "self must be in row-major order")
    last = start + sum((count - 1) * step for count, step in zip(size, stride, strict=True))
    require(0 in size or last < array.size, "size {} with stride {} leaves the tensor", size, stride)
    strides = tuple(each * array.itemsize for each in stride)
    view: Array = as_strided(array.reshape(-1)[start:], size, strides)
    return view


@kernel("aten::flip.out")
def flip(self: Tensor, dims: Ints, out: Tensor) -> Step:
    """Reverse the given dimensions."""
    axes = dimensions(dims, self.array.ndim) if dims else ()
    steps = [-1 if axis in axes else None for axis in range(self.array.ndim)]
    place: tuple[Any, ...] = (
        ...,
        *(slice(None, None, step) for step in steps),
    )  # the dots keep a scalar a view
    return _copy_view(self, self.array[place], out)


@kernel("aten::roll.out")
def roll(self: Tensor, shifts: Ints, dims: Ints, out: Tensor) -> Step:
    """Shift elements along dimensions, or in row-major order without any, with wrap-around."""
    require_same_dtype(self=self, out=out)
    out.resize(self.shape)
    source, target = self.array, out.array
    if not dims:
        require(len(shifts) == 1, "without dims there must be one shift")
        return ArrayCall(_roll_into, target, source, shifts[0], None)
    require(len(shifts) == len(dims), "shifts {} and dims {} differ in length", shifts, dims)
    axes = dimensions(dims, self.array.ndim)
    return ArrayCall(_roll_into, target, source, shifts, axes)


def _roll_into(target: Array, source: Array, shifts: int | Ints, axes: Ints | None) -> None:
    np.copyto(target, np.roll(source, shifts, axes))


@kernel("aten::repeat.out")
def repeat(self: Tensor, repeats: Ints, out: Tensor) -> Step:
    """Repeat the tensor repeats[i] times along dimension i; dimensions may be added in front."""
    require_same_dtype(self=self, out=out)
    added = len(repeats) - self.array.ndim
    require(
        added >= 0 and min(repeats, default=0) >= 0, "{} cannot be repeated {} times", self.shape, repeats
    )
    shape = (1,) * added + self.shape
    out.resize(tuple(count * size for count, size in zip(repeats, shape, strict=True)))
    tiles = tuple(each for pair in zip(repeats, shape, strict=True) for each in pair)
    source = viewed_as(self.array, tuple(each for size in shape for each in (1, size)))
    return copy_step(viewed_as(out.array, tiles), source)


@kernel("aten::pixel_shuffle.out")
def pixel_shuffle(self: Tensor, upscale_factor: int, out: Tensor) -> Step:
    """Move channels into r x r blocks of pixels. Shapes: self (*B, C r r, H, W), out (*B, C, H r, W r)."""
    require_same_dtype(self=self, out=out)
    require(self.array.ndim >= 3 and upscale_factor > 0, "{} cannot be shuffled", self.shape)
    *batch, channels, height, width = self.shape
    r = upscale_factor
    require(channels % (r * r) == 0, "{} channels are not a multiple of {} squared", channels, r)
    out.resize((*batch, channels // (r * r), height * r, width * r))
    source = viewed_as(self.array, (*batch, channels // (r * r), r, r, height, width))
    target = viewed_as(out.array, (*batch, channels // (r * r), height, r, width, r))
    return copy_step(target, np.moveaxis(source, (-4, -3), (-3, -1)))


@kernel("aten::pixel_unshuffle.out")
def pixel_unshuffle(self: Tensor, downscale_factor: int, out: Tensor) -> Step:
    """Move r x r blocks of pixels into channels. Shapes: self (*B, C, H r, W r), out (*B, C r r, H, W)."""
    require_same_dtype(self=self, out=out)
    require(self.array.ndim >= 3 and downscale_factor > 0, "{} cannot be unshuffled", self.shape)
    *batch, channels, height, width = self.shape
    r = downscale_factor
    require(
        height % r == 0 and width % r == 0, "the last two sizes of {} are not multiples of {}", self.shape, r
    )
    out.resize((*batch, channels * r * r, height // r, width // r))
    source = viewed_as(self.array, (*batch, channels, height // r, r, width // r, r))
    target = viewed_as(out.array, (*batch, channels, r, r, height // r, width // r))
    return copy_step(target, np.moveaxis(source, (-3, -1), (-4, -3)))


KERNELS = KernelTable.of_module(globals())
