"""Depthwise convolutions in both memory layouts, against sums over windows in float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from etconfig.executor.memory import Scratch
from etconfig.kernels.depthwise import depthwise_steps
from etconfig.kernels.windows import Windows


def expected(x: np.ndarray, weight: np.ndarray, windows: Windows) -> np.ndarray:
    rank = x.ndim - 2
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((each, each) for each in windows.padding)])
    views = sliding_window_view(padded, windows.extent, tuple(range(2, x.ndim)))
    every = (..., *(slice(None, None, step) for step in (*windows.stride, *windows.dilation)))
    repeated = np.repeat(views[every], len(weight) // x.shape[1], axis=1)
    products = repeated * weight[:, 0].reshape(len(weight), *(1 for _ in range(rank)), *windows.kernel)
    return products.sum(tuple(range(-rank, 0)))


def check(channels: int, sizes: tuple[int, ...], windows: Windows, multiplier: int = 1) -> None:
    """Run the steps twice on new numbers: neither image nor weights are constants."""
    rng = np.random.default_rng(0)
    weight = np.empty((channels * multiplier, 1, *windows.kernel), np.float32)
    x = np.empty((2, channels, *sizes), np.float32)
    out = np.empty((2, len(weight), *windows.count(sizes)), np.float32)
    steps = list(depthwise_steps(x, weight, out, windows, Scratch()))
    for _ in range(2):
        x[:], weight[:] = rng.normal(size=x.shape), rng.normal(size=weight.shape)
        for step in steps:
            step()
        np.testing.assert_allclose(out, expected(x, weight, windows), atol=1e-4)


class TestDepthwise:
    """The layout in memory, which follows from the sizes, changes no result."""

    @pytest.mark.parametrize("multiplier", [1, 2])
    @pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 1), (1, 0), (2, 2)])
    @pytest.mark.parametrize(("channels", "side"), [(200, 6), (3, 20), (70, 40)])
    def test_equals_a_sum_over_windows(
        self, channels: int, side: int, stride: int, padding: int, multiplier: int
    ) -> None:
        windows = Windows((3, 3), (stride, stride), (padding, padding), (1, 1))
        check(channels, (side, side), windows, multiplier)

    @pytest.mark.parametrize("channels", [3, 100])
    @pytest.mark.parametrize("dilation", [1, 2, 3, 4])
    @pytest.mark.parametrize("stride", [1, 2, 3, 6])
    def test_strides_and_gaps_may_share_factors_or_not(
        self, stride: int, dilation: int, channels: int
    ) -> None:
        check(channels, (13, 17), Windows((4, 3), (stride, stride), (2, 3), (dilation, dilation)))

    @pytest.mark.parametrize("channels", [3, 400])
    @pytest.mark.parametrize(
        ("sizes", "windows"),
        [
            ((30,), Windows((5,), (2,), (2,), (1,))),
            ((30,), Windows((5,), (1,), (0,), (3,))),
            ((5, 6, 7), Windows((3, 2, 3), (1, 2, 3), (1, 0, 2), (2, 1, 1))),
        ],
    )
    def test_windows_have_one_to_three_dimensions(
        self, sizes: tuple[int, ...], windows: Windows, channels: int
    ) -> None:
        check(channels, sizes, windows)

    def test_a_stride_that_leads_nowhere_takes_no_memory(self) -> None:
        check(3, (4, 4), Windows((3, 3), (1 << 40, 1 << 40), (0, 0), (1, 1)))
