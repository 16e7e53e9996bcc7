"""`grid_sampler_3d`: interpolated elements of a volume at the places that a grid gives."""

from __future__ import annotations

from itertools import product

import numpy as np

from etconfig.kernel.checks import require, require_floating, require_rank, require_same_dtype
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import KernelTable, Step, kernel
from etconfig.kernel.step_makers import computation_dtype, in_dtype, in_sequence, is_empty
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.kernels.grid_sampling import (
    BILINEAR,
    BORDER,
    NEAREST,
    REFLECTION,
    ZEROS,
    reflected,
    unnormalized,
)


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
            _padded(unnormalized(grid[..., 2 - axis], size, align_corners), size, padding_mode, align_corners)
            for axis, size in enumerate(x.shape[2:])
        ]
        sample = _nearest if interpolation_mode == NEAREST else _trilinear
        np.copyto(out, np.moveaxis(sample(x, places), -1, 1))

    def passes(x: Array, grid: Array, out: Array) -> Step:
        return ArrayCall(run, x, grid, out)

    return in_dtype(computation_dtype(x.dtype), (x.array, grid.array), out.array, passes, scratch)


def _padded(places: Array, size: int, padding_mode: int, align_corners: bool) -> Array:
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


def _nearest(x: Array, places: list[Array]) -> Array:
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
