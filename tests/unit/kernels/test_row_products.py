"""Convolutions row by row of the weights, against sums over windows in float64."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from etconfig.kernel.memory import Scratch
from etconfig.kernels.windows import row_products
from etconfig.kernels.windows.pooling_windows import Windows
from etconfig.kernels.windows.row_products import PACKED_ROWS_BYTES, are_rows_better, row_steps

SQUARE = Windows((3, 3), (1, 1), (1, 1), (1, 1))


def expected(x: np.ndarray, weight: np.ndarray, windows: Windows, groups: int) -> np.ndarray:
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((each, each) for each in windows.padding)])
    counts = windows.count(x.shape[2:])
    split = padded.reshape(len(x), groups, -1, *padded.shape[2:])
    factors = weight.reshape(groups, len(weight) // groups, *weight.shape[1:])
    total = np.zeros((len(x), groups, factors.shape[1], *counts))
    for offset in product(*map(range, windows.kernel)):
        at_offset = factors[(..., *offset)]
        total += np.einsum("goc,ngc...->ngo...", at_offset, windows.at(split, offset, counts))
    return total.reshape(len(x), len(weight), *counts)


def check(
    sizes: tuple[int, ...],
    windows: Windows = SQUARE,
    *,
    groups: int = 1,
    is_channels_last: bool = False,
    is_constant: bool = True,
) -> None:
    """Run the steps twice on new images, and on new weights unless these are constant."""
    rng = np.random.default_rng(0)
    channels, outputs = 4 * groups, 6 * groups
    x = rng.normal(size=(2, channels, *sizes)).astype(np.float32)
    weight = rng.normal(size=(outputs, channels // groups, *windows.kernel)).astype(np.float32)
    out = np.empty((2, outputs, *windows.count(sizes)), np.float32)
    if is_channels_last:
        x, out = (np.moveaxis(np.moveaxis(each, 1, -1).copy(), -1, 1) for each in (x, out))
    weight.flags.writeable = not is_constant
    steps = list(row_steps(x, weight, out, windows, groups, Scratch()))
    for _ in range(2):
        for step in steps:
            step()
        np.testing.assert_allclose(out, expected(x, weight, windows, groups), atol=1e-4)
        x *= -2
        if not is_constant:
            weight *= 3


class TestRowSteps:
    """Products row by row of the weights give the results of windows."""

    @pytest.mark.parametrize("groups", [1, 3])
    @pytest.mark.parametrize(
        ("sizes", "windows"),
        [
            ((7, 8), SQUARE),
            ((9, 8), Windows((3, 2), (2, 3), (1, 0), (1, 1))),
            ((13, 9), Windows((4, 3), (2, 1), (2, 3), (3, 2))),
            ((11, 9), Windows((3, 3), (3, 2), (0, 1), (2, 1))),
            ((9, 5), Windows((2, 1), (4, 1), (0, 0), (1, 1))),
            ((5, 6, 7), Windows((3, 2, 3), (1, 2, 3), (1, 0, 2), (2, 1, 1))),
        ],
    )
    @pytest.mark.parametrize("tile_bytes", [1, 2_000, row_products.ROW_TILE_BYTES])
    def test_equals_a_sum_over_windows(
        self,
        sizes: tuple[int, ...],
        windows: Windows,
        groups: int,
        tile_bytes: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(row_products, "ROW_TILE_BYTES", tile_bytes)
        check(sizes, windows, groups=groups)

    def test_memory_may_lie_in_any_order(self) -> None:
        check((7, 8), is_channels_last=True)

    def test_weights_may_change_between_runs(self) -> None:
        check((7, 8), groups=2, is_constant=False)


def is_chosen(
    channels: int, outputs: int, windows: Windows = SQUARE, sizes: tuple[int, ...] = (9, 9)
) -> bool:
    x = np.empty((1, channels, *sizes), np.float32)
    weight = np.empty((outputs, channels, *windows.kernel), np.float32)
    out = np.empty((1, outputs, *windows.count(sizes)), np.float32)
    return are_rows_better(x, weight, out, windows)


class TestChoice:
    """Rows are used if copies of whole windows would be more work than sums of products."""

    @pytest.mark.parametrize(("kernel", "most"), [((3, 3), 12), ((3, 1), 4)])
    def test_more_outputs_are_more_work(self, kernel: tuple[int, int], most: int) -> None:
        windows = Windows(kernel, (1, 1), (1, 1), (1, 1))
        assert [is_chosen(4, outputs, windows) for outputs in (most, most + 1)] == [True, False]

    def test_a_single_row_or_line_saves_nothing(self) -> None:
        assert not is_chosen(4, 4, Windows((1, 3), (1, 1), (0, 1), (1, 1)))
        assert not is_chosen(4, 4, SQUARE.along(0), (9,))

    def test_large_weights_are_not_copied(self) -> None:
        channels = PACKED_ROWS_BYTES // (64 * 9 * 4)
        assert [is_chosen(each, 64) for each in (channels, channels + 1)] == [True, False]

    def test_rows_far_apart_need_too_much_at_once(self) -> None:
        apart = row_products.ROW_TILE_BYTES // (2 * 4 * 3 * 16 * 4) // 2
        gaps = [Windows((3, 3), (1, 1), (0, 1), (gap, 1)) for gap in (apart, apart + 1)]
        assert [is_chosen(4, 4, each, (2 * apart + 3, 16)) for each in gaps] == [True, False]
