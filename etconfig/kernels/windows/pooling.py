"""Pooling over windows of images (*B, H, W) and of volumes (*B, D, H, W), with or without a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import (
    is_floating,
    require,
    require_dtype,
    require_floating,
    require_rank,
    require_same_dtype,
)
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import Ints, KernelTable, Step, Unread, kernel
from etconfig.kernel.step_makers import (
    BOOL,
    DType,
    computation_dtype,
    constant,
    copy_step,
    in_dtype,
    in_sequence,
    is_empty,
    run_through,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.windows.pooling_windows import Windows


@kernel("aten::max_pool2d_with_indices.out")
def max_pool2d_with_indices(
    self: Tensor,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    out: Tensor,
    indices: Tensor,
    *,
    scratch: Scratch,
    unread: Unread,
) -> Step:
    """Find the largest element of each window, and its first place in row-major order.

    Shapes: self (*B, H, W), out and indices (*B, OH, OW); indices count within H x W.
    """
    windows = Windows.of(kernel_size, stride, padding, dilation, 2)
    return _max_pool(self, windows, ceil_mode, out, indices, scratch, unread)


@kernel("aten::max_pool3d_with_indices.out")
def max_pool3d_with_indices(
    self: Tensor,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    out: Tensor,
    indices: Tensor,
    *,
    scratch: Scratch,
    unread: Unread,
) -> Step:
    """Find the largest element of each window over volumes, and its first place.

    Shapes: self (*B, D, H, W), out and indices (*B, OD, OH, OW); indices count within D x H x W.
    """
    windows = Windows.of(kernel_size, stride, padding, dilation, 3)
    return _max_pool(self, windows, ceil_mode, out, indices, scratch, unread)


def _max_pool(
    self: Tensor,
    windows: Windows,
    ceil_mode: bool,
    out: Tensor,
    indices: Tensor,
    scratch: Scratch,
    unread: Unread,
) -> Step:
    require_same_dtype(self=self, out=out)
    require_dtype("indices", indices, {ScalarType.LONG})
    out.resize(_pooled_shape(self, windows, ceil_mode))
    indices.resize(out.shape)
    if is_empty(out):
        return in_sequence()
    places = None if "indices" in unread else indices.array

    def passes(x: Array, out: Array) -> Step:
        return run_through(scratch, partial(_largest, x, out, places, windows, scratch))

    return in_dtype(computation_dtype(self.dtype), (self.array,), out.array, passes, scratch)


def _pooled_shape(self: Tensor, windows: Windows, ceil_mode: bool) -> Shape:
    rank = len(windows.kernel)
    require_rank("self", self, rank + 1, rank + 2)
    fits = all(2 * padding <= kernel for padding, kernel in zip(windows.padding, windows.extent, strict=True))
    require(fits, "padding {} is more than half of the window {}", windows.padding, windows.extent)
    return (*self.shape[:-rank], *windows.count(self.shape[-rank:], ceil_mode))


def _largest(
    x: Array, out: Array, places: Array | None, windows: Windows, scratch: Scratch
) -> Iterator[Step]:
    buffers = _buffers(windows, out)
    padding, is_here, *partly = scratch.arrays(
        (buffers[0], x.dtype), (out.shape, BOOL), *((shape, x.dtype) for shape in buffers[1:])
    )
    source, preparation = windows.padded(x, padding, smallest(x.dtype))
    yield from preparation
    yield from _fold(np.maximum, source, partly, out, windows)
    if places is not None:
        rank = len(windows.kernel)
        yield from _places(x.shape[-rank:], source, out, places, is_here, windows)


def _buffers(windows: Windows, out: Array) -> list[Shape]:
    """Return the shape that windows slide over, and its shapes as the last dimensions are folded."""
    rank = len(windows.kernel)
    batch, counts = out.shape[:-rank], out.shape[-rank:]
    reach = windows.padded_sizes(counts)
    return [(*batch, *reach[:folded], *counts[folded:]) for folded in range(rank, 0, -1)]


def _fold(
    ufunc: np.ufunc, source: Array, partly: Sequence[Array], out: Array, windows: Windows
) -> Iterator[Step]:
    """Combine the elements of each window along one dimension after the other, from the last on.

    Args:
        partly: Memory for the results along the last dimension, the last two, and so on.
    """
    for place, folded in enumerate([*partly, out], start=1):
        axis = -place
        along = windows.along(axis)
        kept = (slice(size) for size in folded.shape[:axis])
        across = np.swapaxes(source[tuple(kept)], axis, -1)
        views = [along.at(across, offset, (folded.shape[axis],)) for offset in along.offsets]
        yield from _combine(ufunc, [np.swapaxes(view, axis, -1) for view in views], folded)
        source = folded


def _combine(ufunc: np.ufunc, views: Sequence[Array], out: Array) -> Iterator[Step]:
    if len(views) == 1:
        yield copy_step(out, views[0])
    else:
        yield ArrayCall(ufunc, views[0], views[1], out=out)
        yield from (ArrayCall(ufunc, out, view, out=out) for view in views[2:])


def _places(
    sizes: Shape, source: Array, out: Array, places: Array, is_here: Array, windows: Windows
) -> Iterator[Step]:
    """Yield the steps that find each window's largest element, counted in row-major order within `sizes`.

    The offsets are visited last to first, so that the first of equal elements stays. An element
    of the padding never counts.
    """
    counts = out.shape[-len(sizes) :]
    offsets = list(windows.offsets)
    views = {offset: windows.at(source, offset, counts) for offset in offsets}
    gaps = np.multiply(windows.dilation, strides(sizes))
    shifts = {offset: constant(int(np.dot(offset, gaps)), places.dtype) for offset in offsets}
    for offset in reversed(offsets):
        yield ArrayCall(np.equal, views[offset], out, is_here)
        is_inside = windows.is_inside(offset, sizes, counts)
        if not is_inside.all():
            yield ArrayCall(np.logical_and, is_here, is_inside, is_here)
        yield ArrayCall(np.copyto, places, shifts[offset], where=is_here)
    if is_floating(out.dtype):
        yield ArrayCall(_place_nan, out, places, [(shifts[offset], views[offset]) for offset in offsets])
    starts = [start * stride for start, stride in zip(windows.starts(counts), strides(sizes), strict=True)]
    yield ArrayCall(np.add, places, reduce(np.add.outer, starts), places)


def _place_nan(out: Array, places: Array, shifted: Sequence[tuple[Array, Array]]) -> None:
    """Write the place of the last NaN of each window; `shifted` are the shifts with their views."""
    if np.isnan(out).any():
        for shift, view in shifted:
            np.copyto(places, shift, where=np.isnan(view))


def strides(sizes: Shape) -> list[int]:
    """Return the distances between neighbors along each dimension, in elements in row-major order."""
    return [int(np.prod(sizes[axis + 1 :], dtype=np.int64)) for axis in range(len(sizes))]


def smallest(dtype: DType) -> Array:
    """Return the value that is never larger than an element."""
    return np.array(-np.inf if is_floating(dtype) else np.iinfo(dtype).min, dtype)


@kernel("aten::avg_pool2d.out")
def avg_pool2d(
    self: Tensor,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Average each window. Shapes: self (*B, H, W), out (*B, OH, OW). Dtypes: floating, equal."""
    windows = Windows.of(kernel_size, stride, padding, (1,), 2)
    return _avg_pool(self, windows, ceil_mode, count_include_pad, divisor_override, out, scratch)


@kernel("aten::avg_pool3d.out")
def avg_pool3d(
    self: Tensor,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Average each window over volumes. Shapes: self (*B, D, H, W), out (*B, OD, OH, OW)."""
    windows = Windows.of(kernel_size, stride, padding, (1,), 3)
    return _avg_pool(self, windows, ceil_mode, count_include_pad, divisor_override, out, scratch)


def _avg_pool(
    self: Tensor,
    windows: Windows,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Tensor,
    scratch: Scratch,
) -> Step:
    require_floating("self", self)
    require_same_dtype(self=self, out=out)
    require(divisor_override != 0, "divisor_override must not be 0")
    out.resize(_pooled_shape(self, windows, ceil_mode))
    if is_empty(out):
        return in_sequence()
    rank = len(windows.kernel)
    dtype = computation_dtype(self.dtype)
    sizes, counts = self.shape[-rank:], out.shape[-rank:]
    divisors = _divisors(windows, sizes, counts, count_include_pad, divisor_override).astype(dtype)

    def passes(x: Array, out: Array) -> Step:
        buffer, *partly = scratch.arrays(*((shape, dtype) for shape in _buffers(windows, out)))
        source, preparation = windows.padded(x, buffer, constant(0, dtype))
        sums = _fold(np.add, source, partly, out, windows)
        return in_sequence(*preparation, *sums, ArrayCall(np.divide, out, divisors, out))

    return in_dtype(dtype, (self.array,), out.array, passes)


def _divisors(
    windows: Windows, sizes: Shape, counts: Shape, include_padding: bool, override: int | None
) -> Array:
    """Return the number of elements that each window counts, in the shape `counts`."""
    if override is not None:
        return np.full(counts, override)
    spans = []
    for start, size, span, padding in zip(
        windows.starts(counts), sizes, windows.kernel, windows.padding, strict=True
    ):
        end = np.minimum(start + span, size + padding)
        spans.append(end - start if include_padding else np.minimum(end, size) - np.maximum(start, 0))
    return reduce(np.multiply.outer, spans)


KERNELS = KernelTable.of_module(globals())
