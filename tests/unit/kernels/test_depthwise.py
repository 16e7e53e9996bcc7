"""Depthwise convolutions in both memory layouts, against sums over windows in float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from etconfig.kernel.memory import Scratch
from etconfig.kernels.windows import banded, banded_tiles
from etconfig.kernels.windows.banded import (
    MAX_WIDTH,
    MIN_PRODUCTS,
    ROWS_BYTES,
    can_be_banded,
    is_banded_better,
)
from etconfig.kernels.windows.banded_tiles import MAX_GAP, MIN_TAPS, TILE, TILE_BANDS_BYTES, are_tiles_better
from etconfig.kernels.windows.convolution import multiplication
from etconfig.kernels.windows.depthwise import depthwise_steps
from etconfig.kernels.windows.pooling_windows import Windows


def expected(x: np.ndarray, weight: np.ndarray, windows: Windows) -> np.ndarray:
    rank = x.ndim - 2
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((each, each) for each in windows.padding)])
    views = sliding_window_view(padded, windows.extent, tuple(range(2, x.ndim)))
    every = (..., *(slice(None, None, step) for step in (*windows.stride, *windows.dilation)))
    repeated = np.repeat(views[every], len(weight) // x.shape[1], axis=1)
    products = repeated * weight[:, 0].reshape(len(weight), *(1 for _ in range(rank)), *windows.kernel)
    return products.sum(tuple(range(-rank, 0)))


def check(channels: int, sizes: tuple[int, ...], windows: Windows, multiplier: int = 1) -> None:
    """Run the steps twice on new numbers, since neither the image nor the weights are constant."""
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
    """The layout in memory, which depends on the sizes, changes no result."""

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

    def test_a_stride_beyond_the_image_takes_no_memory(self) -> None:
        check(3, (4, 4), Windows((3, 3), (1 << 40, 1 << 40), (0, 0), (1, 1)))


class Example:
    """A convolution with constant weights, and its arrays."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        windows: Windows,
        *,
        images: int = 2,
        channels: int = 3,
        multiplier: int = 1,
    ) -> None:
        rng = np.random.default_rng(0)
        self.windows = windows
        self.x = rng.normal(size=(images, channels, *sizes)).astype(np.float32)
        self.weight = rng.normal(size=(channels * multiplier, 1, *windows.kernel)).astype(np.float32)
        self.weight.flags.writeable = False
        self.out = np.empty((images, len(self.weight), *windows.count(sizes)), np.float32)

    @property
    def is_banded(self) -> bool:
        return can_be_banded(self.x, self.weight, self.out) and is_banded_better(
            self.x, self.weight, self.out, self.windows
        )

    @property
    def is_tiled(self) -> bool:
        return not self.is_banded and are_tiles_better(self.weight, self.out, self.windows)

    def check(self) -> None:
        """Run it twice, with other images in between."""
        channels = self.x.shape[1]
        steps = list(multiplication(self.x, self.weight, self.out, self.windows, channels, False, Scratch()))
        for _ in range(2):
            for step in steps:
                step()
            np.testing.assert_allclose(self.out, expected(self.x, self.weight, self.windows), atol=1e-4)
            self.x *= -2


SQUARE = Windows((7, 7), (1, 1), (3, 3), (1, 1))


class TestBanded:
    """Narrow images are multiplied by banded matrices, which changes no result."""

    @pytest.mark.parametrize("multiplier", [1, 2])
    @pytest.mark.parametrize(
        ("sizes", "windows"),
        [
            ((8, 8), SQUARE),
            ((16, 16), Windows((3, 3), (1, 1), (1, 1), (1, 1))),
            ((9, 12), Windows((4, 5), (2, 3), (1, 2), (1, 2))),
            ((12, 11), Windows((3, 5), (1, 1), (0, 0), (3, 2))),
            ((13, 14), Windows((3, 3), (3, 2), (1, 0), (1, 1))),
            ((30,), Windows((7,), (1,), (9,), (1,))),
            ((5, 6, 7), Windows((3, 2, 3), (1, 2, 3), (1, 0, 2), (2, 1, 1))),
        ],
    )
    def test_equals_a_sum_over_windows(
        self, sizes: tuple[int, ...], windows: Windows, multiplier: int
    ) -> None:
        narrow = Example(sizes, windows, images=4, multiplier=multiplier)
        assert narrow.is_banded
        narrow.check()

    @pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
    def test_numbers_that_are_not_finite_affect_only_their_own_windows(self, number: float) -> None:
        narrow = Example((16, 16), SQUARE)
        narrow.x[1, 2, 5, 6] = number
        assert narrow.is_banded
        with np.errstate(invalid="ignore"):  # as in an execute
            narrow.check()
        assert np.isfinite(narrow.out).sum() == narrow.out.size - 49

    def test_weights_that_may_change_are_summed(self) -> None:
        narrow = Example((16, 16), SQUARE)
        narrow.weight = narrow.weight.copy()
        assert not narrow.is_banded

    def test_weights_that_are_not_finite_are_summed(self) -> None:
        narrow = Example((16, 16), SQUARE)
        narrow.weight = np.full_like(narrow.weight, np.nan)
        narrow.weight.flags.writeable = False
        assert not narrow.is_banded

    @pytest.mark.parametrize("is_beyond", [False, True])
    def test_sizes_decide(self, is_beyond: bool) -> None:
        """Each limit by itself is kept, or exceeded by as little as possible."""
        thin = Windows((1, 3), (1, 1), (0, 0), (1, 1))
        line, single = Windows((3,), (1,), (0,), (1,)), Windows((1, 1), (1, 1), (0, 0), (1, 1))
        most = MAX_WIDTH * 3
        band_bytes = most * (most - 2) * 4
        limits = {
            "width": Example((9, most + is_beyond), thin),
            "products": Example((5,), line, images=-(-MIN_PRODUCTS // 9) - is_beyond),
            "bands": Example(
                (most,), line, images=9, channels=banded.NARROW_BANDS_BYTES // band_bytes + is_beyond
            ),
            "rows": Example((ROWS_BYTES // 4 + is_beyond, 1), single, images=1, channels=1),
        }
        assert {name for name, each in limits.items() if each.is_banded is not is_beyond} == set(limits)


WIDE = Windows((3, 3), (1, 1), (1, 1), (1, 1))
UNPADDED = Windows((3, 3), (1, 1), (0, 0), (1, 1))


class TestTiles:
    """Wide images are multiplied by banded matrices tile by tile, which changes no result."""

    @pytest.mark.parametrize("multiplier", [1, 2])
    @pytest.mark.parametrize(
        ("sizes", "windows"),
        [
            ((6, 32), WIDE),
            ((5, 33), WIDE),
            ((7, 60), Windows((3, 5), (2, 2), (1, 2), (1, 1))),
            ((9, 40), Windows((2, 4), (1, 1), (0, 0), (3, 2))),
            ((9, 80), Windows((1, 3), (2, 3), (1, 0), (1, 2))),
            ((4, 5, 30), Windows((2, 3, 3), (2, 1, 1), (1, 0, 1), (1, 2, 1))),
        ],
    )
    def test_equals_a_sum_over_windows(
        self, sizes: tuple[int, ...], windows: Windows, multiplier: int
    ) -> None:
        wide = Example(sizes, windows, multiplier=multiplier)
        assert wide.is_tiled
        wide.check()

    def test_blocks_of_channels_change_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(banded_tiles, "TILED_BLOCK_BYTES", 2 * 8 * 34 * 4)
        Example((6, 32), WIDE, channels=5, multiplier=2).check()

    def test_memory_may_lie_in_any_order(self) -> None:
        wide = Example((6, 32), Windows((3, 3), (1, 1), (0, 1), (1, 1)), channels=5)
        wide.x, wide.out = (
            np.ascontiguousarray(each.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
            for each in (wide.x, wide.out)
        )
        wide.check()

    def test_images_that_need_no_padding_are_read_where_they_lie(self) -> None:
        wide = Example((6, 34), UNPADDED)
        assert wide.is_tiled
        wide.check()

    @pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
    def test_numbers_that_are_not_finite_affect_only_their_own_windows(self, number: float) -> None:
        wide = Example((8, 32), WIDE, multiplier=2)
        wide.x[1, 2, 5, 6] = number
        assert wide.is_tiled
        with np.errstate(invalid="ignore"):  # as in an execute
            wide.check()
        assert np.isfinite(wide.out).sum() == wide.out.size - 2 * 9

    @pytest.mark.parametrize("is_beyond", [False, True])
    def test_sizes_decide(self, is_beyond: bool) -> None:
        """Each limit by itself is kept, or exceeded by as little as possible."""
        taps = MIN_TAPS - is_beyond
        most = TILE_BANDS_BYTES // (3 * (TILE + 2) * TILE * 4)
        limits = {
            "tiles": Example((9, TILE + 3 - is_beyond), UNPADDED),
            "taps": Example((9, TILE + taps), Windows((3, taps), (1, 1), (0, 0), (1, 1))),
            "gaps": Example((9, 60), Windows((3, 3), (1, 1), (0, 0), (1, MAX_GAP + is_beyond))),
            "bands": Example((3, TILE + 3), UNPADDED, channels=most + is_beyond, images=1),
        }
        chosen = {
            name for name, each in limits.items() if are_tiles_better(each.weight, each.out, each.windows)
        }
        assert chosen == (set() if is_beyond else set(limits))

    def test_lines_are_summed(self) -> None:
        line = Example((60,), WIDE.along(-1), images=1)
        assert not are_tiles_better(line.weight, line.out, line.windows)
        line.check()
