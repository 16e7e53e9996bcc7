"""Depthwise convolution of wide images: products with banded matrices, one for each row of the weights.

Each row of windows is cut in tiles. A tile is a part of a row of the image times a matrix that is the same
for all tiles, so BLAS takes the padded image as it lies in memory. It multiplies by the zeros outside of
the band as well, and is still faster than sums over windows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product
from operator import mul
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from etconfig.kernel.memory import Array, Scratch, Shape
from etconfig.kernel.registry import Step
from etconfig.kernel.step_makers import constant, copy_step, in_same_memory, viewed_as
from etconfig.kernel.steps import ArrayCall
from etconfig.kernels.windows.banded import bands_of, repeat_unless_finite
from etconfig.kernels.windows.depthwise import depthwise_steps
from etconfig.kernels.windows.pooling_windows import Windows

TILE = 16
"""The most windows in a tile: more would multiply more zeros, fewer would take more calls of BLAS."""

MIN_TAPS = 3
"""The least width of a window: sums over narrower ones take few passes."""

MAX_GAP = 6
"""The widest gap between its elements: with wider gaps, the band is mostly zeros."""

TILE_BANDS_BYTES = 4 << 20
"""The largest size of all banded matrices of a convolution."""

TILED_BLOCK_BYTES = 256 << 10
"""Channels are taken in blocks of about this size, to stay in the cache through all passes."""


def are_tiles_better(weight: Array, out: Array, windows: Windows) -> bool:
    """Return whether `tiled_steps` suits these sizes: for a single tile, calling BLAS takes too long."""
    if out.ndim < 4 or out.shape[-1] <= TILE:
        return False
    if windows.kernel[-1] < MIN_TAPS or windows.dilation[-1] > MAX_GAP:
        return False
    (reach,) = windows.along(-1).padded_sizes((TILE,))
    band_bytes = len(weight) * math.prod(windows.kernel[:-1]) * reach * TILE * weight.itemsize
    return band_bytes <= TILE_BANDS_BYTES


def tiled_steps(x: Array, weight: Array, out: Array, windows: Windows, scratch: Scratch) -> Iterator[Step]:
    """Yield the steps that write the convolution to `out`.

    Shapes: x (N, C, *S), weight (C m, 1, *K), out (N, C m, *T), of two or three spatial dimensions.
    """
    channels, counts = x.shape[1], out.shape[2:]
    multiplier = len(weight) // channels
    bands = _tile_bands(
        viewed_as(weight, (channels, multiplier, *windows.kernel)), windows, counts[-1], scratch
    )
    tiles = -(-counts[-1] // bands.shape[-1])
    widened = (*counts[:-1], tiles * bands.shape[-1])
    reach = windows.padded_sizes(widened)
    block = min(channels, max(1, TILED_BLOCK_BYTES // (math.prod(reach) * x.itemsize)))
    products = ((block, multiplier, *widened), x.dtype)
    padding, sums, terms = scratch.arrays(((block, *reach), x.dtype), products, products)
    for image, first in product(range(len(x)), range(0, channels, block)):
        inputs = slice(first, min(first + block, channels))
        outputs = slice(first * multiplier, inputs.stop * multiplier)
        source, steps = _padded_rows(x[image, inputs], windows, padding[: inputs.stop - first])
        yield from steps
        result = viewed_as(out[image, outputs], (len(source), multiplier, *counts))
        is_direct = widened == counts and result.flags.c_contiguous
        total, term = result if is_direct else sums[: len(source)], terms[: len(source)]
        for index, row in enumerate(product(*map(range, windows.kernel[:-1]))):
            parts = _parts(source, windows, row, (tiles, *bands.shape[-2:]), counts[:-1])
            of_row: tuple[Any, ...] = (inputs, slice(None), *row, *(None for _ in counts[1:]))
            yield ArrayCall(np.matmul, parts, bands[of_row], _in_tiles(term if index else total, tiles))
            if index:
                yield ArrayCall(np.add, total, term, total)
        if not is_direct:
            yield copy_step(result, total[..., : counts[-1]])
        one = slice(image, image + 1)
        again = partial(depthwise_steps, x[one, inputs], weight[outputs], out[one, outputs], windows, scratch)
        yield ArrayCall(repeat_unless_finite, total.reshape(-1), in_same_memory(scratch, again))


def _tile_bands(factors: Array, windows: Windows, count: int, scratch: Scratch) -> Array:
    """Factors (C, m, *K) as matrices (C, m, *K[:-1], reach, width), for tiles of one width."""
    along = windows.along(-1)
    unpadded = Windows(along.kernel, along.stride, (0,), along.dilation)
    width = -(-count // -(-count // TILE))
    (reach,) = unpadded.padded_sizes((width,))
    # tiles of other images may have other widths, but at most eight different ones
    return scratch.kept(factors, (unpadded, width), lambda: bands_of(factors, unpadded, reach, width))


def _padded_rows(images: Array, windows: Windows, buffer: Array) -> tuple[Array, list[Step]]:
    """Return the array that the windows slide over, with contiguous rows, and the steps that prepare it."""
    source, steps = windows.padded(images, buffer, constant(0, images.dtype))
    if source.strides[-1] == source.itemsize and source.strides[-2] >= source.shape[-1] * source.itemsize:
        return source, steps
    return buffer, [*steps, copy_step(buffer, source[tuple(map(slice, buffer.shape))])]


def _parts(source: Array, windows: Windows, row: Shape, tiles: tuple[int, int, int], counts: Shape) -> Array:
    """Return the view (C, 1, tiles, *counts, reach) of the elements that each tile covers in one row.

    Args:
        source: (C, *sizes), padding included.
        windows: The windows.
        row: The row of weights, an index for each dimension but the last.
        tiles: The number of tiles, the elements that one covers, and the number of its windows.
        counts: The number of windows in each dimension but the last.
    """
    number, reach, width = tiles
    places = map(mul, row, windows.dilation)
    start: tuple[Any, ...] = (slice(None), *(slice(place, None) for place in places))
    every = map(mul, source.strides[1:-1], windows.stride)
    across = source.strides[-1]
    return as_strided(
        source[start],
        (len(source), 1, number, *counts, reach),
        (source.strides[0], 0, width * windows.stride[-1] * across, *every, across),
    )


def _in_tiles(products: Array, tiles: int) -> Array:
    """Return `products` (C, m, *counts, tiles * width) as (C, m, tiles, *counts, width)."""
    return np.moveaxis(viewed_as(products, (*products.shape[:-1], tiles, -1)), -2, 2)
