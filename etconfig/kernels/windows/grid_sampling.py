"""Interpolated elements of an image or a volume at the places that a grid gives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from etconfig.kernel.checks import require, require_floating, require_rank, require_same_dtype
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import KernelTable, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, in_dtype, in_sequence, is_empty
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
"""Source: GridSamplerInterpolation and GridSamplerPadding, aten/src/ATen/native/GridSamplerUtils.h."""

CUBIC = -0.75
"""The free coefficient of the cubic kernel."""


@kernel("aten::grid_sampler_2d.out")
def grid_sampler_2d(
    x: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Interpolate elements of `x` at the places of `grid`.

    Shapes: x (N, C, H, W), grid (N, OH, OW, 2) of x and y in [-1, 1], out (N, C, OH, OW).
    Dtypes: floating, equal.
    """
    require_floating("input", x)
    require_rank("input", x, 4)
    require_same_dtype(input=x, grid=grid, out=out)
    require(
        grid.array.ndim == 4 and grid.shape[0] == x.shape[0] and grid.shape[3] == 2,
        "grid must have shape ({}, H, W, 2), but has {}",
        x.shape[0],
        grid.shape,
    )
    require(min(x.shape[2:]) > 0, "there is nothing to sample in {}", x.shape)
    require(
        interpolation_mode in _SAMPLERS, "interpolation_mode must be 0, 1 or 2, not {}", interpolation_mode
    )
    require(
        padding_mode in (ZEROS, BORDER, REFLECTION), "padding_mode must be 0, 1 or 2, not {}", padding_mode
    )
    out.resize((*x.shape[:2], *grid.shape[1:3]))
    sample = _SAMPLERS[interpolation_mode]
    height, width = x.shape[2:]

    def run(image: _Image, grid: Array, out: Array) -> None:
        across = unnormalized(grid[..., 0], width, align_corners)
        down = unnormalized(grid[..., 1], height, align_corners)
        np.copyto(out, sample(image, down, across).transpose(0, 3, 1, 2))

    def passes(x: Array, grid: Array, out: Array) -> Step:
        return ArrayCall(run, _Image(x, padding_mode, align_corners), grid, out)

    return in_dtype(computation_dtype(x.dtype), (x.array, grid.array), out.array, passes, scratch)


class _Image:
    """An image that can also be read outside of its bounds."""

    def __init__(self, x: Array, padding_mode: int, align_corners: bool) -> None:
        self._x = x
        self._padding_mode = padding_mode
        self._align_corners = align_corners
        self._batch = np.arange(len(x)).reshape(-1, 1, 1)

    def at(self, row: Array, column: Array) -> Array:
        """Return the elements (N, OH, OW, C) at whole places; zeros outside."""
        height, width = self._x.shape[2:]
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        rows = np.where(inside, row, 0).astype(np.int64)
        columns = np.where(inside, column, 0).astype(np.int64)
        values: Array = self._x[self._batch, :, rows, columns]
        return np.where(inside[..., np.newaxis], values, values.dtype.type(0))

    def padded(self, places: Array, axis: int) -> Array:
        """Move places along a dimension inside, as the padding mode says."""
        size = self._x.shape[axis]
        if self._padding_mode == REFLECTION:
            places = reflected(places, size, self._align_corners)
        if self._padding_mode != ZEROS:
            # NaN becomes 0: PyTorch clips with comparisons, which are false for NaN
            places = np.where(places > 0, np.minimum(places, size - 1), places.dtype.type(0))
        return places


def unnormalized(places: Array, size: int, align_corners: bool) -> Array:
    """Scale places from [-1, 1], the centers or borders of the outermost elements, to element numbers."""
    if align_corners:
        scaled: Array = (places + 1) / 2 * (size - 1)
    else:
        scaled = ((places + 1) * size - 1) / 2
    return scaled


def reflected(places: Array, size: int, align_corners: bool) -> Array:
    """Reflect places at the centers, or at the borders, of the outermost elements."""
    low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(places)
    distance = np.abs(places - places.dtype.type(low))
    extra = np.fmod(distance, places.dtype.type(span))
    is_even = np.floor(distance / places.dtype.type(span)) % 2 == 0
    folded: Array = np.where(is_even, extra, places.dtype.type(span) - extra) + places.dtype.type(low)
    return folded


def _nearest(image: _Image, down: Array, across: Array) -> Array:
    return image.at(np.rint(image.padded(down, 2)), np.rint(image.padded(across, 3)))


def _bilinear(image: _Image, down: Array, across: Array) -> Array:
    down, across = image.padded(down, 2), image.padded(across, 3)
    top, left = np.floor(down), np.floor(across)
    below, right = down - top, across - left
    total = _weighted(image.at(top, left), (1 - below) * (1 - right))
    total += _weighted(image.at(top, left + 1), (1 - below) * right)
    total += _weighted(image.at(top + 1, left), below * (1 - right))
    total += _weighted(image.at(top + 1, left + 1), below * right)
    return total


def _bicubic(image: _Image, down: Array, across: Array) -> Array:
    top, left = np.floor(down), np.floor(across)
    by_row, by_column = _cubic_weights(down - top), _cubic_weights(across - left)
    columns = [image.padded(left + each, 3) for each in range(-1, 3)]
    total: Array = np.zeros((), down.dtype)
    for row, weight in zip(range(-1, 3), by_row, strict=True):
        rows = image.padded(top + row, 2)
        values = (
            _weighted(image.at(rows, column), each) for column, each in zip(columns, by_column, strict=True)
        )
        total = total + _weighted(sum(values, start=np.zeros((), down.dtype)), weight)
    return total


def _weighted(values: Array, weights: Array) -> Array:
    product: Array = values * weights[..., np.newaxis]
    return product


def _cubic_weights(share: Array) -> list[Array]:
    """Return the weights of the four elements around a place `share` after the second."""

    def near(x: Array) -> Array:
        return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1

    def far(x: Array) -> Array:
        return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC

    return [far(share + 1), near(share), near(1 - share), far(2 - share)]


_SAMPLERS: dict[int, Callable[[_Image, Array, Array], Array]] = {
    BILINEAR: _bilinear,
    NEAREST: _nearest,
    BICUBIC: _bicubic,
}


@kernel("aten::grid_sampler_3d.out")
def grid_sampler_3d(
    x: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    out: Tensor,
    *,
    scratch: Scratch,
) -> Step:
    """Interpolate elements of `x` at the places of `grid`: between the eight around a place, or the nearest.

    Shapes: x (N, C, D, H, W), grid (N, OD, OH, OW, 3) of x, y and z in [-1, 1], out (N, C, OD, OH, OW).
    Dtypes: floating, equal.
    """
    require_floating("input", x)
    require_rank("input", x, 5)
    require_same_dtype(input=x, grid=grid, out=out)
    is_grid = grid.array.ndim == 5 and grid.shape[0] == x.shape[0] and grid.shape[4] == 3
    require(is_grid, "grid must have shape ({}, D, H, W, 3), but has {}", x.shape[0], grid.shape)
    require(min(x.shape[2:]) > 0, "there is nothing to sample in {}", x.shape)
    require(
        interpolation_mode in (BILINEAR, NEAREST),
        "interpolation_mode must be 0 or 1, not {}",
        interpolation_mode,
    )
    is_padding = padding_mode in (ZEROS, BORDER, REFLECTION)
    require(is_padding, "padding_mode must be 0, 1 or 2, not {}", padding_mode)
    out.resize((*x.shape[:2], *grid.shape[1:4]))
    if is_empty(out):
        return in_sequence()

    def run(x: Array, grid: Array, out: Array) -> None:
        places = [
            _inside(unnormalized(grid[..., 2 - axis], size, align_corners), size, padding_mode, align_corners)
            for axis, size in enumerate(x.shape[2:])
        ]
        sample = _nearest_of_volume if interpolation_mode == NEAREST else _trilinear
        np.copyto(out, np.moveaxis(sample(x, places), -1, 1))

    def passes(x: Array, grid: Array, out: Array) -> Step:
        return ArrayCall(run, x, grid, out)

    return in_dtype(computation_dtype(x.dtype), (x.array, grid.array), out.array, passes, scratch)


def _inside(places: Array, size: int, padding_mode: int, align_corners: bool) -> Array:
    """Move places inside, as the padding mode says; there, as in PyTorch, NaN becomes the last place."""
    if padding_mode == REFLECTION:
        places = reflected(places, size, align_corners)
    if padding_mode != ZEROS:
        last = places.dtype.type(size - 1)
        places = np.where(places < 0, places.dtype.type(0), np.where(places < last, places, last))
    return places


def _at(x: Array, corner: list[Array], weight: Array) -> Array:
    """Return the weighted elements (N, OD, OH, OW, C) at whole places; zeros outside."""
    is_inside = np.ones(corner[0].shape, np.bool_)
    for place, size in zip(corner, x.shape[2:], strict=True):
        is_inside &= (place >= 0) & (place < size)
    places = [np.where(is_inside, place, 0).astype(np.int64) for place in corner]
    batch = np.arange(len(x)).reshape(-1, 1, 1, 1)
    values: Array = x[batch, :, places[0], places[1], places[2]]
    return np.where(is_inside[..., np.newaxis], values * weight[..., np.newaxis], values.dtype.type(0))


def _nearest_of_volume(x: Array, places: list[Array]) -> Array:
    return _at(x, [np.rint(each) for each in places], np.ones((1,), x.dtype))


def _trilinear(x: Array, places: list[Array]) -> Array:
    low = [np.floor(each) for each in places]
    shares = [place - first for place, first in zip(places, low, strict=True)]
    total: Array = np.zeros((), x.dtype)
    for corner in product((0, 1), repeat=3):
        weight = np.ones((), x.dtype)
        for side, share in zip(corner, shares, strict=True):
            weight = weight * (share if side else 1 - share)
        total = total + _at(x, [first + side for first, side in zip(low, corner, strict=True)], weight)
    return total


KERNELS = KernelTable.of_module(globals())
