"""Elementwise kernels on tensors of different rank: those of one size are flattened, others broadcast."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_calls import tensor_of

from etconfig.kernel.memory import Scratch
from etconfig.kernels import builtin_kernels

SUB = "aten::sub.out"


def difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    out = tensor_of(np.full(np.broadcast_shapes(first.shape, second.shape), np.nan, np.float32))
    builtin_kernels()[SUB].bind(SUB, Scratch(), [tensor_of(first), tensor_of(second), 1, out])()
    return out.array


class TestRanks:
    """Dimensions of size 1 are added in front, as PyTorch does."""

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ((1, 2, 3), (2, 3)),
            ((2, 3), (1, 1, 2, 3)),
            ((1, 2, 3), (3,)),
            ((3, 1), (3,)),
            ((1, 1), (1,)),
            ((1,), ()),
            ((), (2, 3)),
            ((1, 0, 3), (0, 3)),
            ((2, 0), (0,)),
        ],
        ids=str,
    )
    def test_the_difference_is_that_of_numpy(self, first: tuple[int, ...], second: tuple[int, ...]) -> None:
        rng = np.random.default_rng(0)
        a, b = (rng.normal(size=shape).astype(np.float32) for shape in (first, second))
        np.testing.assert_array_equal(difference(a, b), a - b)

    def test_tensors_with_gaps_or_in_another_order(self) -> None:
        a, b = (np.arange(24, dtype=np.float32).reshape(shape) for shape in ((1, 4, 6), (6, 4)))
        np.testing.assert_array_equal(difference(a, b.T), a - b.T)
        np.testing.assert_array_equal(difference(a[..., ::2], b.T[:, ::2]), a[..., ::2] - b.T[:, ::2])
