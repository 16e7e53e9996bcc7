"""Sliding windows, shared by convolutions and pooling: sizes, padding, and the view of one offset."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from etconfig.base.records import record
from etconfig.kernel.checks import require
from etconfig.kernel.memory import Array, Shape
from etconfig.kernel.registry import Ints, Step
from etconfig.kernel.step_makers import copy_step

MAX_WINDOW = 1 << 16
"""The most elements of one window: there is a step for each of them."""

MAX_PADDED, PADDED_PER_ELEMENT = 1 << 20, 100
"""The most elements that an image may have with padding, in all and for each of its own elements."""


@record(frozen=True)
class Windows:
    """Windows over the last dimensions of an array, one number for each of them.

    Attributes:
        kernel: The number of elements of a window.
        stride: The distance between windows.
        padding: The number of elements that are added at each end.
        dilation: The distance between the elements of a window.
    """

    kernel: Ints
    stride: Ints
    padding: Ints
    dilation: Ints

    @classmethod
    def of(cls, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, rank: int) -> Windows:
        """Windows over `rank` dimensions; a list of one number counts for all, no stride is the kernel.

        Raises:
            ValueError: a list has another length, or a number is out of range.
        """
        kernel = spread("kernel_size", kernel, rank, at_least=1)
        require(
            math.prod(kernel) <= MAX_WINDOW, "a window of {} has more than {} elements", kernel, MAX_WINDOW
        )
        stride = spread("stride", stride or kernel, rank, at_least=1)
        padding = spread("padding", padding, rank, at_least=0)
        return cls(kernel, stride, padding, spread("dilation", dilation, rank, at_least=1))

    @property
    def offsets(self) -> Iterator[Ints]:
        """Every position within a window, in row-major order."""
        return itertools.product(*map(range, self.kernel))

    @cached_property
    def extent(self) -> Ints:
        """The number of elements that a window covers, gaps included."""
        return tuple(d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True))

    def count(self, sizes: Shape, ceil_mode: bool = False) -> Shape:
        """Return the number of windows that fit into each of `sizes`.

        With `ceil_mode` a last window may end beyond the padding, but not begin in it.
        """
        counts = []
        for size, extent, stride, padding in zip(sizes, self.extent, self.stride, self.padding, strict=True):
            room = size + 2 * padding - extent + (stride - 1 if ceil_mode else 0)
            require(room >= 0, "a window of {} does not fit size {} with padding {}", extent, size, padding)
            count = room // stride + 1
            if ceil_mode and (count - 1) * stride >= size + padding:
                count -= 1
            counts.append(count)
        self.check_reach(self.padded_sizes(counts), sizes)
        return tuple(counts)

    def check_reach(self, reach: Shape, sizes: Shape) -> None:
        """Refuse padding that makes a small image huge.

        Raises:
            ValueError: the padding does so.
        """
        limit = max(MAX_PADDED, PADDED_PER_ELEMENT * math.prod(sizes))
        require(math.prod(reach) <= limit, "padding {} makes {} of {}", self.padding, reach, sizes)

    def padded_sizes(self, counts: Sequence[int]) -> Shape:
        """Return the sizes that `counts` windows reach over, padding included."""
        return tuple(
            (count - 1) * stride + extent
            for count, stride, extent in zip(counts, self.stride, self.extent, strict=True)
        )

    def along(self, axis: int) -> Windows:
        """Return the same along one dimension only."""
        return Windows(
            *((numbers[axis],) for numbers in (self.kernel, self.stride, self.padding, self.dilation))
        )

    def starts(self, counts: Shape) -> list[Array]:
        """Return the positions where windows begin in each dimension; negative in the padding."""
        return [
            np.arange(count) * step - padding
            for count, step, padding in zip(counts, self.stride, self.padding, strict=True)
        ]

    def is_inside(self, offset: Ints, sizes: Shape, counts: Shape) -> Array:
        """Return a mask of the windows whose element at `offset` is not padding."""
        inside = []
        for start, position, gap, size in zip(self.starts(counts), offset, self.dilation, sizes, strict=True):
            place = start + position * gap
            inside.append((place >= 0) & (place < size))
        return reduce(np.logical_and.outer, inside)

    def at(self, padded: Array, offset: Ints, counts: Shape, first: int = 0) -> Array:
        """Return the view of `padded` that holds, for each window, its element at `offset`.

        Args:
            padded: (..., *sizes), padding included.
            offset: The position within a window.
            counts: The number of windows in each dimension.
            first: The first window along the first dimension.
        """
        firsts = (first, *(0 for _ in counts[1:]))
        index: list[Any] = [...]
        for window, position, step, gap, count in zip(
            firsts, offset, self.stride, self.dilation, counts, strict=True
        ):
            start = window * step + position * gap
            index.append(slice(start, start + (count - 1) * step + 1, step))
        view: Array = padded[tuple(index)]
        return view

    def padded(self, source: Array, buffer: Array, value: Array) -> tuple[Array, list[Step]]:
        """Return the array that windows slide over, and the steps that prepare it.

        This is `source` itself if there is no padding; otherwise `buffer`, with `source` in the middle
        and `value` in the border.
        """
        rank = len(self.padding)
        sizes, reach = source.shape[-rank:], buffer.shape[-rank:]
        if not any(self.padding) and all(map(int.__le__, reach, sizes)):
            return source, []
        steps: list[Step] = []
        ends = [
            min(padding + size, end) for padding, size, end in zip(self.padding, sizes, reach, strict=True)
        ]
        middle: list[Any] = [...]
        kept: list[Any] = [...]
        for axis, (padding, end) in enumerate(zip(self.padding, ends, strict=True)):
            for border in (slice(padding), slice(end, None)):
                index: tuple[Any, ...] = (..., border, *(slice(None),) * (rank - axis - 1))
                steps.append(copy_step(buffer[index], value))
            middle.append(slice(padding, end))
            kept.append(slice(end - padding))
        return buffer, [*steps, copy_step(buffer[tuple(middle)], source[tuple(kept)])]


def spread(name: str, values: Ints, rank: int, *, at_least: int) -> Ints:
    """Return one number for each of `rank` dimensions, from a list of them or of one.

    Raises:
        ValueError: the list has another length, or a number is too small.
    """
    require(len(values) in (1, rank), "{} must have {} numbers, not {}", name, rank, values)
    require(min(values) >= at_least, "{} must be at least {}, not {}", name, at_least, values)
    return values * rank if len(values) == 1 else values
