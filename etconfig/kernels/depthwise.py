"""Depthwise convolution: each channel has windows of its own, so there is no matrix to multiply."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from etconfig.executor.memory import Array, Scratch, Shape
from etconfig.executor.registry import Step
from etconfig.kernels.binding import constant, copy_step, packed, viewed_as
from etconfig.kernels.windows import Windows
from etconfig.values import strides_of

BLOCK_BYTES = 256 << 10
"""Channels are taken in blocks of about this size, to stay in the cache through all passes."""

SMALL_BYTES = 1 << 20
"""Padded images up to this size may be turned around, so that the channels are innermost."""


def depthwise_steps(
    x: Array, weight: Array, out: Array, windows: Windows, scratch: Scratch
) -> Iterator[Step]:
    """Shifted views of the padded channels times one weight each, summed.

    Shapes: x (N, C, *S), weight (C m, 1, *K), out (N, C m, *T).
    """
    channels, counts = x.shape[1], out.shape[2:]
    multiplier = len(weight) // channels
    weights = viewed_as(weight, (channels, multiplier, math.prod(windows.kernel)))
    results = viewed_as(out, (len(x), channels, multiplier, *counts))
    reach = windows.padded_sizes(counts)
    is_small = channels * math.prod(reach) * x.itemsize <= SMALL_BYTES
    if is_small and channels > _row_length(reach, counts, windows) and any(windows.padding):
        return _with_channels_innermost(x, weights, results, windows, scratch)
    return _in_blocks(x, weights, results, windows, scratch)


def _row_length(reach: Shape, counts: Shape, windows: Windows) -> int:
    """How many elements numpy takes in one loop if each channel lies in one piece."""
    return math.prod(reach) if set(windows.stride) == {1} else counts[-1]


def _with_channels_innermost(
    x: Array, weights: Array, results: Array, windows: Windows, scratch: Scratch
) -> Iterator[Step]:
    """All channels at one place are one loop: longer than a row of a small image."""
    channels, multiplier, _ = weights.shape
    counts = results.shape[3:]
    room = ((multiplier, *counts, channels), x.dtype)
    buffers = scratch.arrays(((*windows.padded_sizes(counts), channels), x.dtype), room, room)
    padding, total, term = (np.moveaxis(each, -1, 0) for each in buffers)
    factors = np.moveaxis(weights, 2, 0).copy()
    if weights.flags.writeable:
        yield copy_step(factors, np.moveaxis(weights, 2, 0))
    for image, result in zip(x, results, strict=True):
        source, preparation = windows.padded(image, padding, constant(0, x.dtype))
        yield from preparation
        views = [windows.at(source, offset, counts) for offset in windows.offsets]
        yield from _weighted_sum(views, np.moveaxis(factors, 0, 2), total, term)
        yield copy_step(result, total)


def _in_blocks(
    x: Array, weights: Array, results: Array, windows: Windows, scratch: Scratch
) -> Iterator[Step]:
    channels, multiplier, _ = weights.shape
    counts = results.shape[3:]
    reach = windows.padded_sizes(counts)
    size = math.prod(map(max, reach, x.shape[2:]))
    block = min(channels, max(1, BLOCK_BYTES // (size * x.itemsize)))
    room = ((block * multiplier * size,), x.dtype)
    padding, sums, terms = scratch.arrays(((block, *reach), x.dtype), room, room)
    for image, result in zip(x, results, strict=True):
        for first in range(0, channels, block):
            taken = slice(first, min(first + block, channels))
            target = result[taken]
            source, preparation = windows.padded(image[taken], padding[: len(target)], constant(0, x.dtype))
            flat, packing = packed(source, (len(target), math.prod(source.shape[1:])))
            views = _shifted(flat, source.shape[1:], windows, counts)
            shape = (len(target), multiplier, *views[0].shape[1:])
            total, term = (each[: math.prod(shape)].reshape(shape) for each in (sums, terms))
            yield from [*preparation, *packing]
            yield from _weighted_sum(views, weights[taken], total, term)
            yield copy_step(target, _of_windows(total, source.shape[1:], windows, counts))


def _shifted(flat: Array, sizes: Shape, windows: Windows, counts: Shape) -> list[Array]:
    """For each position in the windows, the elements there.

    `flat` holds (C, *sizes) as rows. Without strides a view is a part of each row: one long
    loop for numpy, at the price of the elements between the windows. Otherwise a view has
    the shape (C, *counts).
    """
    if set(windows.stride) != {1}:
        grid = flat.reshape(len(flat), *sizes)
        return [windows.at(grid, offset, counts) for offset in windows.offsets]
    steps = strides_of(sizes, range(len(sizes)), 1)
    length = 1 + sum((count - 1) * step for count, step in zip(counts, steps, strict=True))
    starts = (
        sum(place * gap * step for place, gap, step in zip(offset, windows.dilation, steps, strict=True))
        for offset in windows.offsets
    )
    return [flat[:, start : start + length] for start in starts]


def _of_windows(total: Array, sizes: Shape, windows: Windows, counts: Shape) -> Array:
    """What belongs to the windows in a sum over `_shifted` views: (C, m, *counts)."""
    if set(windows.stride) != {1}:
        return total
    steps = strides_of(sizes, range(len(sizes)), total.itemsize)
    return as_strided(total, (*total.shape[:2], *counts), (*total.strides[:2], *steps))


def _weighted_sum(views: list[Array], weights: Array, total: Array, term: Array) -> Iterator[Step]:
    """Write the sum of views (C, ...) times weights (C, m, K) to `total` (C, m, ...)."""
    for place, view in enumerate(views):
        source = view[:, np.newaxis]
        factor = viewed_as(weights[:, :, place], (*weights.shape[:2], *(1 for _ in view.shape[1:])))
        if place == 0:
            yield partial(np.multiply, source, factor, total)
        else:
            yield partial(np.multiply, source, factor, term)
            yield partial(np.add, total, term, total)
