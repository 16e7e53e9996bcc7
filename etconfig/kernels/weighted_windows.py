"""Images whose elements become weighted sums over windows: a product with a matrix for each axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from etconfig.executor.memory import Array, Scratch
from etconfig.executor.registry import Step
from etconfig.executor.tensor import Tensor
from etconfig.kernels.binding import in_dtype


class WeightedWindows(NamedTuple):
    """Windows along one axis.

    Attributes:
        weights: (windows, size), in the dtype to compute in; 0 outside of a window.
        spans: Where each window begins and ends.
    """

    weights: Array
    spans: Sequence[tuple[int, int]]


def weighted_sums_step(
    x: Tensor, down: WeightedWindows, across: WeightedWindows, out: Tensor, scratch: Scratch
) -> Step:
    """Sum `x` over windows along both axes. Shapes: x (*B, H, W), out (*B, OH, OW)."""
    dtype = down.weights.dtype
    rows = scratch.array((*x.shape[:-1], out.shape[-1]), dtype)

    def passes(x: Array, out: Array) -> Step:
        return partial(_multiply, x, down, across, rows, out)

    return in_dtype(dtype, (x.array,), out.array, passes)


def _multiply(x: Array, down: WeightedWindows, across: WeightedWindows, rows: Array, out: Array) -> None:
    """Products with whole matrices, unless an element is infinite or NaN: 0 times it is NaN, not 0."""
    np.matmul(x, across.weights.T, rows)
    np.matmul(down.weights, rows, out)
    if not math.isfinite(np.add.reduce(out, axis=None)):
        _by_window(x, across, rows)
        _by_window(np.swapaxes(rows, -1, -2), down, np.swapaxes(out, -1, -2))


def _by_window(x: Array, windows: WeightedWindows, out: Array) -> None:
    """Sum over each window by itself."""
    for place, (weights, (start, end)) in enumerate(zip(*windows, strict=True)):
        np.matmul(x[..., start:end], weights[start:end], out[..., place])
