"""Depthwise convolution: each channel has windows of its own, so there is no matrix to multiply."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import product, repeat
from operator import floordiv, mod, mul
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from etconfig.base.records import record
from etconfig.base.scalar_types import strides_of
from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import Step
from etconfig.kernel.step_makers import constant, copy_step, viewed_as
from etconfig.kernel.steps import ArrayCall
from etconfig.kernels.windows.pooling_windows import Windows

LINE_BYTES = 64
"""The size of a cache line."""

DEPTHWISE_BLOCK_BYTES = 512 << 10
"""Channels are taken in blocks of about this size, to stay in the cache through all passes."""


def depthwise_steps(
    x: Array, weight: Array, out: Array, windows: Windows, scratch: Scratch
) -> Iterator[Step]:
    """Yield the steps that sum the elements of each window times their weights.

    numpy's einsum multiplies and adds in one pass if its innermost loop is over neighbors in
    memory: all channels at one place, or all places of one channel.

    Shapes: x (N, C, *S), weight (C m, 1, *K), out (N, C m, *T).
    """
    channels, counts = x.shape[1], out.shape[2:]
    weights = viewed_as(weight, (channels, len(weight) // channels, *windows.kernel))
    results = viewed_as(out, (len(x), *weights.shape[:2], *counts))
    phases = _Phases.of(windows, counts)
    if 2 * channels > phases.length:  # this way takes fewer steps
        return _with_channels_innermost(x, weights, results, windows, scratch)
    return _in_blocks(x, weights, results, phases, scratch)


def _with_channels_innermost(
    x: Array, weights: Array, results: Array, windows: Windows, scratch: Scratch
) -> Iterator[Step]:
    channels, multiplier = weights.shape[:2]
    counts = results.shape[3:]
    rank = len(counts)
    room = _apart_in_cache(channels, x.itemsize)
    padding, total = (
        np.moveaxis(each[..., :channels], -1, 0)
        for each in scratch.arrays(
            ((*windows.padded_sizes(counts), room), x.dtype), ((multiplier, *counts, room), x.dtype)
        )
    )
    if weights.flags.writeable:
        factors = _with_channels_last(weights)
        yield copy_step(factors, weights)
    else:
        factors = scratch.kept(weights, "channels last", partial(_with_channels_last, weights))
    every: tuple[Any, ...] = (
        slice(None),
        *map(slice, repeat(None), repeat(None), (*windows.stride, *windows.dilation)),
    )
    views = sliding_window_view(padding, windows.extent, tuple(range(1, rank + 1)))[every]
    places, taps = range(2, rank + 2), range(rank + 2, 2 * rank + 2)
    for image, result in zip(x, results, strict=True):
        yield from _pad(windows, image, padding)
        yield ArrayCall(
            np.einsum, views, [0, *places, *taps], factors, [0, 1, *taps], [0, 1, *places], out=total
        )
        yield copy_step(result, total)


def _apart_in_cache(count: int, itemsize: int) -> int:
    """At least `count`: as many elements as fill an odd number of cache lines.

    Channels that lie an even number of lines apart compete for the same few places in the cache, and evict
    each other while one after the other is copied.
    """
    lines = -(-count * itemsize // LINE_BYTES) | 1
    return lines * LINE_BYTES // itemsize


def _with_channels_last(weights: Array) -> Array:
    """Return a copy in which the weights of all channels at one place are neighbors in memory."""
    return np.moveaxis(np.moveaxis(weights, 0, -1).copy(), -1, 0)


def _in_blocks(x: Array, weights: Array, results: Array, phases: _Phases, scratch: Scratch) -> Iterator[Step]:
    channels, multiplier = weights.shape[:2]
    block = min(channels, max(1, DEPTHWISE_BLOCK_BYTES // (math.prod(phases.sizes) * x.itemsize)))
    run = ((block, multiplier, phases.length), x.dtype)
    padding, buffer, sums, terms = scratch.arrays(
        ((block, *phases.sizes), x.dtype), ((block, *phases.strides, *phases.cells), x.dtype), run, run
    )
    for image, result in zip(x, results, strict=True):
        for first in range(0, channels, block):
            taken = slice(first, min(first + block, channels))
            count = len(image[taken])
            source, total, term = padding[:count], sums[:count], terms[:count]
            yield from _pad(phases.windows, image[taken], source)
            pieces = phases.cut(source)
            if set(phases.strides) != {1}:
                yield copy_step(buffer[:count], pieces)
                pieces = buffer[:count]
            yield from _weighted_sum(phases.runs(pieces, weights[taken]), total, term)
            yield copy_step(result[taken], phases.of_windows(total))


def _pad(windows: Windows, image: Array, padding: Array) -> list[Step]:
    """Return the steps that write the padded image to `padding`."""
    source, steps = windows.padded(image, padding, constant(0, image.dtype))
    if source is padding:
        return steps
    return [copy_step(padding, source[tuple(map(slice, padding.shape))])]


@record(frozen=True)
class _Phases:
    """Images cut by the remainders of their indices modulo the stride.

    Within one phase, the elements at one position of all windows are neighbors: a run of
    memory over all rows, at the price of the elements between one row's windows and the next's.

    Attributes:
        windows: The windows.
        counts: The number of windows in each dimension.
        cells: The sizes of one phase.
    """

    windows: Windows
    counts: Shape
    cells: Shape

    @classmethod
    def of(cls, windows: Windows, counts: Shape) -> _Phases:
        """Phases just large enough for the windows; a single window needs no stride."""
        strides = tuple(1 if count == 1 else step for count, step in zip(counts, windows.stride, strict=True))
        windows = Windows(windows.kernel, strides, windows.padding, windows.dilation)
        reach = windows.padded_sizes(counts)
        cells = tuple(-(-size // step) for size, step in zip(reach, strides, strict=True))
        return cls(windows, counts, cells)

    @property
    def strides(self) -> Shape:
        """The number of phases along each dimension."""
        return self.windows.stride

    @property
    def sizes(self) -> Shape:
        """The sizes of the part of a padded image that all phases cover together."""
        return tuple(map(mul, self.cells, self.strides))

    @cached_property
    def length(self) -> int:
        """The number of elements that a run spans."""
        return 1 + sum((count - 1) * row for count, row in zip(self.counts, self._rows, strict=True))

    @cached_property
    def _rows(self) -> Shape:
        """The number of elements between neighbors along each dimension of a phase."""
        return strides_of(self.cells, range(len(self.cells)), 1)

    def cut(self, images: Array) -> Array:
        """Return `images` (C, *sizes) as (C, *strides, *cells)."""
        split = [size for pair in zip(self.cells, self.strides, strict=True) for size in pair]
        rank = len(self.cells)
        axes = (0, *range(2, 2 * rank + 1, 2), *range(1, 2 * rank, 2))
        view: Array = viewed_as(images, (len(images), *split)).transpose(axes)
        return view

    def runs(self, pieces: Array, weights: Array) -> Iterator[tuple[Array, Array]]:
        """Yield runs (C, *taps, length) and their weights (C, m, *taps), whose products sum up to the result.

        Taps in one phase come together, except along the innermost dimension: there, einsum
        would take them, not the places, for neighbors in memory.

        Args:
            pieces: (C, *strides, *cells).
            weights: (C, m, *kernel).
        """
        kernel, gaps = self.windows.kernel, self.windows.dilation
        apart = [stride // math.gcd(stride, gap) for stride, gap in zip(self.strides, gaps, strict=True)]
        apart[-1] = kernel[-1]
        steps = [
            count * gap // stride * row
            for count, gap, stride, row in zip(apart, gaps, self.strides, self._rows, strict=True)
        ]
        for first in product(*map(range, map(min, apart, kernel))):
            places = tuple(map(mul, first, gaps))
            phase: tuple[Any, ...] = (slice(None), *map(mod, places, self.strides))
            flat = viewed_as(pieces[phase], (len(pieces), math.prod(self.cells)))
            start = sum(map(mul, map(floordiv, places, self.strides), self._rows))
            taken: tuple[Any, ...] = (..., *map(slice, first, kernel, apart))
            factors = weights[taken]
            yield _respaced(flat[:, start:], (*factors.shape[2:], self.length), (*steps, 1)), factors

    def of_windows(self, total: Array) -> Array:
        """Return the windows' elements (C, m, *counts) of a sum of runs (C, m, length)."""
        return _respaced(total, self.counts, self._rows)


def _weighted_sum(parts: Iterable[tuple[Array, Array]], total: Array, term: Array) -> Iterator[Step]:
    """Yield the steps that write the sum over `_Phases.runs` to `total`."""
    for index, (runs, factors) in enumerate(parts):
        taps = range(2, factors.ndim)
        target = term if index else total
        place = factors.ndim
        yield ArrayCall(np.einsum, runs, [0, *taps, place], factors, [0, 1, *taps], [0, 1, place], out=target)
        if index:
            yield ArrayCall(np.add, total, term, total)


def _respaced(rows: Array, sizes: Shape, steps: Shape) -> Array:
    """Return the last dimension, of neighbors in memory, as dimensions that are `steps` elements apart."""
    strides = (step * rows.itemsize for step in steps)
    return as_strided(rows, (*rows.shape[:-1], *sizes), (*rows.strides[:-1], *strides))
