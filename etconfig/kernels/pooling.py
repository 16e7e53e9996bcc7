"""Pooling over windows of images: (N, C, H, W) or (C, H, W)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from etconfig.executor.checks import (
    is_floating,
    require,
    require_dtype,
    require_floating,
    require_rank,
    require_same_dtype,
)
from etconfig.executor.memory import Array, Scratch
from etconfig.executor.registry import Ints, KernelTable, Step, Unread, kernel
from etconfig.executor.tensor import Tensor
from etconfig.kernels.binding import (
    BOOL,
    DType,
    computation_dtype,
    constant,
    copy_step,
    in_dtype,
    in_sequence,
    run_through,
)
from etconfig.kernels.weighted_windows import WeightedWindows, weighted_sums_step
from etconfig.kernels.windows import Windows, spread
from etconfig.values import ScalarType


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
    """The largest element of each window, and the first place in row-major order where it is.

    Shapes: self (*B, H, W), out and indices (*B, OH, OW); indices count within H x W.
    """
    require_rank("self", self, 3, 4)
    require_same_dtype(self=self, out=out)
    require_dtype("indices", indices, {ScalarType.LONG})
    windows = _checked(Windows.of(kernel_size, stride, padding, dilation, 2))
    counts = windows.count(self.shape[-2:], ceil_mode)
    out.resize((*self.shape[:-2], *counts))
    indices.resize(out.shape)

    places = None if "indices" in unread else indices.array

    def passes(x: Array, out: Array) -> Step:
        return run_through(partial(_largest, x, out, places, windows, scratch))

    return in_dtype(computation_dtype(self.dtype), (self.array,), out.array, passes)


def _largest(
    x: Array, out: Array, places: Array | None, windows: Windows, scratch: Scratch
) -> Iterator[Step]:
    reach = windows.padded_sizes(out.shape[-2:])
    padding, rows, is_here = scratch.arrays(
        ((*x.shape[:-2], *reach), x.dtype),
        ((*x.shape[:-2], reach[0], out.shape[-1]), x.dtype),
        (out.shape, BOOL),
    )
    source, preparation = windows.padded(x, padding, _smallest(x.dtype))
    yield from preparation
    yield from _fold(np.maximum, source, rows, out, windows)
    if places is not None:
        yield from _places(x.shape[-2:], source, out, places, is_here, windows)


def _fold(ufunc: np.ufunc, source: Array, rows: Array, out: Array, windows: Windows) -> Iterator[Step]:
    """Combine the elements of each window: first along rows, then along columns."""
    height, width = out.shape[-2:]
    tall, wide = windows.along(0), windows.along(1)
    across = [wide.at(source, offset, (width,)) for offset in wide.offsets]
    yield from _combine(ufunc, [view[..., : rows.shape[-2], :] for view in across], rows)
    turned = np.swapaxes(rows, -1, -2)
    down = [np.swapaxes(tall.at(turned, offset, (height,)), -1, -2) for offset in tall.offsets]
    yield from _combine(ufunc, down, out)


def _combine(ufunc: np.ufunc, views: Sequence[Array], out: Array) -> Iterator[Step]:
    if len(views) == 1:
        yield copy_step(out, views[0])
    else:
        yield partial(ufunc, views[0], views[1], out=out)
        yield from (partial(ufunc, out, view, out=out) for view in views[2:])


def _places(
    sizes: tuple[int, ...], source: Array, out: Array, places: Array, is_here: Array, windows: Windows
) -> Iterator[Step]:
    """Where each window's largest element is, counted in row-major order within `sizes`.

    The offsets are taken last to first, so that the first of equal elements stays. An element
    of the padding never counts.
    """
    counts = out.shape[-2:]
    offsets = list(windows.offsets)
    views = {offset: windows.at(source, offset, counts) for offset in offsets}
    shifts = {
        offset: constant(
            offset[0] * windows.dilation[0] * sizes[1] + offset[1] * windows.dilation[1], places.dtype
        )
        for offset in offsets
    }
    for offset in reversed(offsets):
        yield partial(np.equal, views[offset], out, is_here)
        is_inside = windows.is_inside(offset, sizes, counts)
        if not is_inside.all():
            yield partial(np.logical_and, is_here, is_inside, is_here)
        yield partial(np.copyto, places, shifts[offset], where=is_here)
    if is_floating(out.dtype):

        def place_nan() -> None:
            if np.isnan(out).any():
                for offset in offsets:
                    np.copyto(places, shifts[offset], where=np.isnan(views[offset]))

        yield place_nan
    tops, lefts = windows.starts(counts)
    yield partial(np.add, places, tops[:, np.newaxis] * sizes[1] + lefts, places)


def _smallest(dtype: DType) -> Array:
    return np.array(-np.inf if is_floating(dtype) else np.iinfo(dtype).min, dtype)


def _checked(windows: Windows) -> Windows:
    fits = all(2 * padding <= kernel for padding, kernel in zip(windows.padding, windows.extent, strict=True))
    require(fits, f"padding {windows.padding} is more than half of the window {windows.extent}")
    return windows


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
    """The mean of each window. Shapes: self (*B, H, W), out (*B, OH, OW). Dtypes: floating, equal."""
    require_rank("self", self, 3, 4)
    require_floating("self", self)
    require_same_dtype(self=self, out=out)
    require(divisor_override != 0, "divisor_override must not be 0")
    windows = _checked(Windows.of(kernel_size, stride, padding, (1,), 2))
    counts = windows.count(self.shape[-2:], ceil_mode)
    out.resize((*self.shape[:-2], *counts))
    dtype = computation_dtype(self.dtype)
    divisors = _divisors(windows, self.shape[-2:], counts, count_include_pad, divisor_override).astype(dtype)

    def passes(x: Array, out: Array) -> Step:
        reach = windows.padded_sizes(counts)
        buffer, rows = scratch.arrays(
            ((*x.shape[:-2], *reach), dtype), ((*x.shape[:-2], reach[0], counts[1]), dtype)
        )
        source, preparation = windows.padded(x, buffer, constant(0, dtype))
        sums = _fold(np.add, source, rows, out, windows)
        return in_sequence(*preparation, *sums, partial(np.divide, out, divisors, out))

    return in_dtype(dtype, (self.array,), out.array, passes)


def _divisors(
    windows: Windows,
    sizes: tuple[int, ...],
    counts: tuple[int, ...],
    include_padding: bool,
    override: int | None,
) -> Array:
    """How many elements each window counts: (OH, OW)."""
    if override is not None:
        return np.full(counts, override)
    spans = []
    for start, size, span, padding in zip(
        windows.starts(counts), sizes, windows.kernel, windows.padding, strict=True
    ):
        end = np.minimum(start + span, size + padding)
        spans.append(end - start if include_padding else np.minimum(end, size) - np.maximum(start, 0))
    divisors: Array = np.multiply.outer(*spans)
    return divisors


@kernel("aten::_adaptive_avg_pool2d.out")
def adaptive_avg_pool2d(self: Tensor, output_size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """The means of OH x OW regions that cover the image, which may overlap by one element.

    Shapes: self (*B, H, W), out (*B, OH, OW). Dtypes: floating, equal.
    """
    require_rank("self", self, 3, 4)
    require_floating("self", self)
    require_same_dtype(self=self, out=out)
    height, width = spread("output_size", output_size, 2, at_least=0)
    out.resize((*self.shape[:-2], height, width))
    dtype = computation_dtype(self.dtype)
    down, across = _averaging(self.shape[-2], height, dtype), _averaging(self.shape[-1], width, dtype)
    return weighted_sums_step(self, down, across, out, scratch)


def _averaging(size: int, count: int, dtype: DType) -> WeightedWindows:
    """Windows whose sums are averages of regions of a vector."""
    weights = np.zeros((count, size), dtype)
    spans = [(region * size // count, -(-(region + 1) * size // count)) for region in range(count)]
    for row, (start, end) in zip(weights, spans, strict=True):
        row[start:end] = 1 / (end - start)
    return WeightedWindows(weights, spans)


KERNELS = KernelTable.of_module(globals())
