"""Pooling over a given number of regions that cover an image or a volume, and may overlap by one element."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial, reduce

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.checks import (
    require,
    require_dtype,
    require_floating,
    require_rank,
    require_same_dtype,
)
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import Ints, KernelTable, Step, kernel
from etconfig.kernel.step_makers import (
    BOOL,
    DType,
    computation_dtype,
    copy_step,
    in_dtype,
    in_sequence,
    is_empty,
    run_through,
)
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.windows.pooling import smallest, strides
from etconfig.kernels.windows.pooling_windows import MAX_WINDOW, spread
from etconfig.kernels.windows.weighted_windows import WeightedWindows, check_weights, weighted_sums_step


@kernel("aten::_adaptive_avg_pool2d.out")
def adaptive_avg_pool2d(self: Tensor, output_size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """Average OH x OW regions. Shapes: self (*B, H, W), out (*B, OH, OW). Dtypes: floating, equal."""
    return _means(self, spread("output_size", output_size, 2, at_least=0), out, scratch)


@kernel("aten::_adaptive_avg_pool3d.out")
def adaptive_avg_pool3d(self: Tensor, output_size: Ints, out: Tensor, *, scratch: Scratch) -> Step:
    """Average OD x OH x OW regions of volumes. Shapes: self (*B, D, H, W), out (*B, OD, OH, OW)."""
    return _means(self, spread("output_size", output_size, 3, at_least=0), out, scratch)


@kernel("aten::adaptive_max_pool2d.out")
def adaptive_max_pool2d(
    self: Tensor, output_size: Ints, out: Tensor, indices: Tensor, *, scratch: Scratch
) -> Step:
    """Find the largest elements of OH x OW regions, and the first place of each in row-major order.

    Shapes: self (*B, H, W), out and indices (*B, OH, OW); indices count within H x W.
    """
    return _maxima(self, spread("output_size", output_size, 2, at_least=0), out, indices, scratch)


@kernel("aten::adaptive_max_pool3d.out")
def adaptive_max_pool3d(
    self: Tensor, output_size: Ints, out: Tensor, indices: Tensor, *, scratch: Scratch
) -> Step:
    """Find the largest elements of regions of volumes, and the first place of each.

    Shapes: self (*B, D, H, W), out and indices (*B, OD, OH, OW); indices count within D x H x W.
    """
    return _maxima(self, spread("output_size", output_size, 3, at_least=0), out, indices, scratch)


def _require_regions(self: Tensor, counts: Ints, out: Tensor) -> None:
    rank = len(counts)
    require_rank("self", self, rank + 1, rank + 2)
    require_floating("self", self)
    require_same_dtype(self=self, out=out)
    require(all(self.shape[-rank:]), "self {} has no elements to pool", self.shape)


def _means(self: Tensor, counts: Ints, out: Tensor, scratch: Scratch) -> Step:
    _require_regions(self, counts, out)
    rank = len(counts)
    out.resize((*self.shape[:-rank], *counts))
    if is_empty(out):
        return in_sequence()
    dtype = computation_dtype(self.dtype)
    windows = [_averaging(size, count, dtype) for size, count in zip(self.shape[-rank:], counts, strict=True)]
    return weighted_sums_step(self, windows, out, scratch)


def _averaging(size: int, count: int, dtype: DType) -> WeightedWindows:
    """Windows whose sums are averages of regions of a vector."""
    check_weights(size, count)
    weights = np.zeros((count, size), dtype)
    starts, ends = (bound.tolist() for bound in _bounds(size, count))
    spans = list(zip(starts, ends, strict=True))
    for row, (start, end) in zip(weights, spans, strict=True):
        row[start:end] = 1 / (end - start)
    return WeightedWindows(weights, spans)


def _bounds(size: int, count: int) -> tuple[Array, Array]:
    """Return the starts and the ends of `count` regions of a vector."""
    regions = np.arange(count)
    return regions * size // max(count, 1), -(-(regions + 1) * size // max(count, 1))


def _maxima(self: Tensor, counts: Ints, out: Tensor, indices: Tensor, scratch: Scratch) -> Step:
    _require_regions(self, counts, out)
    require_dtype("indices", indices, {ScalarType.LONG})
    out.resize((*self.shape[: -len(counts)], *counts))
    indices.resize(out.shape)
    if is_empty(out):
        return in_sequence()

    def passes(x: Array, out: Array) -> Step:
        return run_through(scratch, partial(_largest, x, out, indices.array, len(counts), scratch))

    return in_dtype(computation_dtype(self.dtype), (self.array,), out.array, passes, scratch)


def _largest(x: Array, out: Array, places: Array, rank: int, scratch: Scratch) -> Iterator[Step]:
    """Yield the steps that visit the elements of all regions, one of each region at a time.

    In a region with fewer elements than the largest one, the last elements are visited again.
    """
    batch, sizes, counts = x.shape[:-rank], x.shape[-rank:], out.shape[-rank:]
    bounds = [_bounds(size, count) for size, count in zip(sizes, counts, strict=True)]
    longest = [int((end - start).max(initial=0)) for start, end in bounds]
    require(math.prod(longest) <= MAX_WINDOW, "a region of {} has more than {} elements", longest, MAX_WINDOW)
    elements, value, is_larger, is_nan = scratch.arrays(
        ((*batch, math.prod(sizes)), x.dtype), (out.shape, x.dtype), (out.shape, BOOL), (out.shape, BOOL)
    )
    yield copy_step(elements.reshape(x.shape), x)
    yield copy_step(out, smallest(x.dtype))
    for offset in itertools.product(*map(range, longest)):
        along = [
            np.minimum(start + step, end - 1) * stride
            for step, (start, end), stride in zip(offset, bounds, strides(sizes), strict=True)
        ]
        place = reduce(np.add.outer, along)
        if not any(offset):
            yield copy_step(places, place)
        yield ArrayCall(np.take, elements, place, -1, value, "clip")
        yield ArrayCall(np.greater, value, out, is_larger)
        yield ArrayCall(np.isnan, value, is_nan)
        yield ArrayCall(np.logical_or, is_larger, is_nan, is_larger)
        yield ArrayCall(np.copyto, out, value, where=is_larger)
        yield ArrayCall(np.copyto, places, place, where=is_larger)


KERNELS = KernelTable.of_module(globals())
