"""Weighted sums over windows, computed as a product with a matrix for each axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from etconfig.kernel.checks import require
from etconfig.kernel.memory import Array, Scratch
from etconfig.kernel.registry import Step
from etconfig.kernel.step_makers import in_dtype
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor

MAX_WEIGHTS = 1 << 26
"""The most weights along one axis, as many as for 16,384 windows over 4,096 elements."""


def check_weights(size: int, count: int) -> None:
    """Refuse a matrix of weights that would take gigabytes for tensors of kilobytes.

    Raises:
        ValueError: `count` windows over `size` elements have too many weights.
    """
    require(size * count <= MAX_WEIGHTS, "{} windows over {} elements are too many weights", count, size)


class WeightedWindows(NamedTuple):
    """Windows along one axis.

    Attributes:
        weights: (windows, size), in the dtype to compute in; 0 outside of a window.
        spans: The beginning and the end of each window.
    """

    weights: Array
    spans: Sequence[tuple[int, int]]


def weighted_sums_step(x: Tensor, windows: Sequence[WeightedWindows], out: Tensor, scratch: Scratch) -> Step:
    """Return the step that sums `x` over windows along its last axes, with one of `windows` for each.

    Shapes: x (*B, *sizes), out (*B, *counts).
    """
    dtype = windows[0].weights.dtype
    axes = range(-1, -len(windows) - 1, -1)
    partly = scratch.arrays(*(((*x.shape[:axis], *out.shape[axis:]), dtype) for axis in axes[:-1]))

    def passes(x: Array, out: Array) -> Step:
        results = [*partly, out]
        return ArrayCall(
            _multiply, list(zip(axes, [x, *partly], reversed(windows), results, strict=True)), out
        )

    return in_dtype(dtype, (x.array,), out.array, passes)


def _multiply(products: Sequence[tuple[int, Array, WeightedWindows, Array]], out: Array) -> None:
    """Multiply by whole matrices, or by window if a result is not finite, since 0 times infinity is NaN."""
    for axis, source, windows, result in products:
        if axis == -1:
            np.matmul(source, windows.weights.T, result)
        else:
            np.matmul(windows.weights, source.swapaxes(axis, -2), result.swapaxes(axis, -2))
    if not math.isfinite(np.add.reduce(out, axis=None)):  # type: ignore[call-overload]  # numpy 2.5
        for axis, source, windows, result in products:
            _by_window(source.swapaxes(axis, -1), windows, result.swapaxes(axis, -1))


def _by_window(x: Array, windows: WeightedWindows, out: Array) -> None:
    """Sum over each window by itself."""
    for place, (weights, (start, end)) in enumerate(zip(*windows, strict=True)):
        np.matmul(x[..., start:end], weights[start:end], out[..., place])
