"""Depthwise convolution of narrow images: for each channel a product with a banded matrix.

Along the innermost dimension, a row of windows is a row of the image times a matrix with the weights
in a band, and zeros elsewhere. BLAS multiplies by the zeros as well, and is still faster than sums
over windows, unless the band is thin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import Step
from etconfig.kernel.step_makers import FLOAT32, FLOAT64, constant, copy_step, in_same_memory, viewed_as
from etconfig.kernel.steps import ArrayCall
from etconfig.kernels.windows.depthwise import depthwise_steps
from etconfig.kernels.windows.pooling_windows import Windows

MAX_WIDTH = 7
"""The largest width of an image, as a multiple of the window's width."""

MIN_PRODUCTS = 384
"""The fewest numbers of a channel to multiply by weights: for fewer, calling BLAS takes longer."""

NARROW_BANDS_BYTES = 256 << 10
"""The largest size of all banded matrices of a convolution: larger ones take longer to read."""

ROWS_BYTES = 4 << 20
"""The largest size of the rows that are multiplied by these matrices."""


def is_banded_better(x: Array, weight: Array, out: Array, windows: Windows) -> bool:
    """Return whether `banded_steps` suits these sizes."""
    width, rows = x.shape[-1], math.prod(windows.kernel[:-1])
    products = x.shape[0] * math.prod(out.shape[2:]) * math.prod(windows.kernel)
    if width > MAX_WIDTH * windows.kernel[-1] or products < MIN_PRODUCTS:
        return False
    band_bytes = len(weight) * rows * width * out.shape[-1] * x.itemsize
    rows_bytes = x.shape[0] * x.shape[1] * math.prod(out.shape[2:-1]) * rows * width * x.itemsize
    return bool(band_bytes <= NARROW_BANDS_BYTES and rows_bytes <= ROWS_BYTES)


def can_be_banded(x: Array, weight: Array, out: Array) -> bool:
    """Return whether the weights are finite constants of a dtype that BLAS takes, and there is work to do."""
    if weight.flags.writeable or x.dtype not in (FLOAT32, FLOAT64) or not x.size or not out.size:
        return False
    return bool(np.isfinite(weight).all())


def banded_steps(x: Array, weight: Array, out: Array, windows: Windows, scratch: Scratch) -> Iterator[Step]:
    """Yield the steps that write the convolution to `out`.

    Shapes: x (N, C, *S), weight (C m, 1, *K), out (N, C m, *T).
    """
    images, channels, *_, width = x.shape
    counts, kernel = out.shape[2:], windows.kernel
    factors = viewed_as(weight, (channels, len(weight) // channels, *kernel))
    bands = np.moveaxis(bands_of(factors, windows.along(-1), width, counts[-1]), 1, -2)
    bands = bands.reshape(channels, -1, factors.shape[1] * counts[-1])
    across = _with_whole_rows(windows)
    source = x.swapaxes(0, 1)
    padding, rows, products = scratch.arrays(
        ((channels, images, *across.padded_sizes((*counts[:-1], width))), x.dtype),
        ((channels, images, *counts[:-1], *kernel[:-1], width), x.dtype),
        ((channels, images * math.prod(counts[:-1]), bands.shape[-1]), x.dtype),
    )
    padded, steps = across.padded(source, padding, constant(0, x.dtype))
    yield from steps
    yield copy_step(rows, _rows_of_windows(padded, across))
    yield ArrayCall(np.matmul, rows.reshape(*products.shape[:2], -1), bands, products)
    shaped = products.reshape(channels, images, *counts[:-1], factors.shape[1], counts[-1])
    results = viewed_as(out, (images, *factors.shape[:2], *counts))
    yield copy_step(results, np.moveaxis(shaped, -2, 2).swapaxes(0, 1))
    again = in_same_memory(scratch, partial(depthwise_steps, x, weight, out, windows, scratch))
    yield ArrayCall(repeat_unless_finite, products.reshape(-1), again)


def bands_of(factors: Array, windows: Windows, width: int, count: int) -> Array:
    """Return factors (C, m, *K) as matrices (C, m, *K[:-1], width, count): `count` windows over `width`."""
    bands = np.zeros((*factors.shape[:-1], width, count), factors.dtype)
    (starts,), (gap,) = windows.starts((count,)), windows.dilation
    for tap in range(factors.shape[-1]):
        places = starts + tap * gap
        (inside,) = np.nonzero((places >= 0) & (places < width))
        bands[..., places[inside], inside] = factors[..., tap, np.newaxis]
    return bands


def _with_whole_rows(windows: Windows) -> Windows:
    """Return windows that are one element wide along the innermost dimension, without padding there."""

    def ending_in(numbers: Sequence[int], last: int) -> tuple[int, ...]:
        return (*numbers[:-1], last)

    return Windows(
        kernel=ending_in(windows.kernel, 1),
        stride=ending_in(windows.stride, 1),
        padding=ending_in(windows.padding, 0),
        dilation=ending_in(windows.dilation, 1),
    )


def _rows_of_windows(padded: Array, windows: Windows) -> Array:
    """Return `padded` (C, N, *sizes, width) as (C, N, *counts, *kernel, width)."""
    rank = len(windows.kernel)
    views = sliding_window_view(padded, windows.extent, tuple(range(2, rank + 2)))
    every: tuple[Any, ...] = (
        ...,
        *(slice(None, None, step) for step in (*windows.stride, *windows.dilation)),
    )
    rows: Array = np.moveaxis(views[every][..., 0], rank + 1, -1)
    return rows


def repeat_unless_finite(products: Array, make: Callable[[], Iterator[Step]]) -> None:
    """Run the steps of `make` if not all products are finite.

    With an infinity or NaN in a row, all its windows become NaN, since zero times either is NaN.
    """
    if not math.isfinite(np.dot(products, products)):
        for step in make():
            step()
