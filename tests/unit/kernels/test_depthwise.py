"""Depthwise convolutions in both memory layouts, against sums over windows in float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from etconfig.executor.memory import Scratch
from etconfig.kernels.depthwise import depthwise_steps
from etconfig.kernels.windows import Windows


def expected(x: np.ndarray, weight: np.ndarray, stride: int, padding: int) -> np.ndarray:
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = sliding_window_view(padded, weight.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    repeated = np.repeat(windows, len(weight) // x.shape[1], axis=1)
    return np.einsum("ncyxij,cij->ncyx", repeated, weight[:, 0])


class TestDepthwise:
    """The layout in memory, which follows from the sizes, changes no result."""

    @pytest.mark.parametrize("multiplier", [1, 2])
    @pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 1), (1, 0), (2, 2)])
    @pytest.mark.parametrize(("channels", "side"), [(200, 6), (3, 20), (70, 40)])
    def test_equals_a_sum_over_windows(
        self, channels: int, side: int, stride: int, padding: int, multiplier: int
    ) -> None:
        rng = np.random.default_rng(0)
        weight = np.empty((channels * multiplier, 1, 3, 3), np.float32)
        windows = Windows((3, 3), (stride, stride), (padding, padding), (1, 1))
        counts = windows.count((side, side))
        x = np.empty((2, channels, side, side), np.float32)
        out = np.empty((2, len(weight), *counts), np.float32)
        steps = list(depthwise_steps(x, weight, out, windows, Scratch()))
        for _ in range(2):  # neither image nor weights are constants
            x[:], weight[:] = rng.normal(size=x.shape), rng.normal(size=weight.shape)
            for step in steps:
                step()
            np.testing.assert_allclose(out, expected(x, weight, stride, padding), atol=1e-4)
