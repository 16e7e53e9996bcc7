"""Random numbers with parameters, and in the shape of another tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from kernel_calls import run, tensor, tensor_of

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import KernelArgumentError

COUNT = 20_000
FLOAT, LONG = ScalarType.FLOAT, ScalarType.LONG
LIKE = np.zeros(COUNT, np.float32)

CALLS = {
    "aten::rand_like.out": ([LIKE, None], FLOAT, 0.5, 1 / 12, (0, 1)),
    "aten::randn_like.out": ([LIKE, None], FLOAT, 0, 1, (-9, 9)),
    "aten::randint.out": ([10, (COUNT,)], LONG, 4.5, 8.25, (0, 9)),
    "aten::randint.low_out": ([-5, 5, (COUNT,)], LONG, -0.5, 8.25, (-5, 4)),
    "aten::randint_like.out": ([LIKE, 10, None], FLOAT, 4.5, 8.25, (0, 9)),
    "aten::randint_like.low_dtype_out": ([LIKE, -5, 5, None], LONG, -0.5, 8.25, (-5, 4)),
    "aten::uniform.out": ([LIKE, -1.0, 3.0, None], FLOAT, 1, 16 / 12, (-1, 3)),
    "aten::exponential.out": ([LIKE, 2.0, None], FLOAT, 0.5, 0.25, (1e-38, 20)),
    "aten::normal.Tensor_float_out": ([LIKE + 3, 2.0, None], FLOAT, 3, 4, (-20, 20)),
    "aten::normal.float_Tensor_out": ([3.0, LIKE + 2, None], FLOAT, 3, 4, (-20, 20)),
    "aten::normal.Tensor_Tensor_out": ([LIKE + 3, LIKE + 2, None], FLOAT, 3, 4, (-20, 20)),
    "aten::normal.float_float_out": ([3.0, 2.0, (COUNT,), None], FLOAT, 3, 4, (-20, 20)),
}
"""For each operator: its arguments, the type of its output, the mean, the variance and the limits."""


def drawn(
    operator: str, arguments: Sequence[object], scalar_type: ScalarType, shape: tuple[int, ...]
) -> np.ndarray:
    out = tensor(*shape, dtype=scalar_type)
    tensors = [tensor_of(each) if isinstance(each, np.ndarray) else each for each in arguments]
    run(operator, *tensors, out)
    return out.array.astype(np.float64)


class TestDistributions:
    """Each has the mean, the variance and the limits of its definition."""

    @pytest.mark.parametrize("operator", CALLS)
    def test_mean_variance_and_limits(self, operator: str) -> None:
        arguments, scalar_type, mean, variance, (low, high) = CALLS[operator]
        values = drawn(operator, arguments, scalar_type, (COUNT,))
        # five standard errors
        assert abs(values.mean() - mean) < 5 * np.sqrt(variance / COUNT)
        assert abs(values.var() - variance) < 0.08 * variance
        assert low <= values.min()
        assert values.max() <= high

    @pytest.mark.parametrize("count", [0, 1, 50])
    def test_a_permutation_has_each_number_once(self, count: int) -> None:
        values = drawn("aten::randperm.out", [count], LONG, (count,))
        assert sorted(values) == list(range(count))

    def test_a_permutation_is_not_in_order(self) -> None:
        assert drawn("aten::randperm.out", [50], LONG, (50,)).tolist() != list(range(50))


WEIGHTS = np.array([[1, 0, 3, 4], [0, 2, 2, 0]], np.float32)


class TestMultinomial:
    """Indices are drawn with the probabilities of their rows."""

    def test_shares_are_those_of_the_weights(self) -> None:
        arguments = [WEIGHTS, COUNT, True, None]
        values = drawn("aten::multinomial.out", arguments, LONG, (2, COUNT))
        shares = np.array([np.bincount(row.astype(int), minlength=4) / COUNT for row in values])
        np.testing.assert_allclose(shares, WEIGHTS / WEIGHTS.sum(1, keepdims=True), atol=0.02)
        assert not shares[WEIGHTS == 0].any()

    def test_the_first_index_without_replacement_has_the_same_shares(self) -> None:
        rows = np.repeat(WEIGHTS[:1], COUNT, 0)
        values = drawn("aten::multinomial.out", [rows, 3, False, None], LONG, (COUNT, 3))
        assert {*map(tuple, np.sort(values, 1))} == {(0, 2, 3)}
        shares = np.bincount(values[:, 0].astype(int), minlength=4) / COUNT
        np.testing.assert_allclose(shares, WEIGHTS[0] / WEIGHTS[0].sum(), atol=0.02)

    @pytest.mark.parametrize(
        ("weights", "count", "replacement", "message"),
        [
            ([1.0, -1.0], 1, True, "negative"),
            ([1.0, np.nan], 1, True, "NaN"),
            ([0.0, 0.0], 1, True, "add up to 0"),
            ([1.0, 0.0], 2, False, "only 1 are possible"),
        ],
    )
    def test_impossible_weights_are_refused(
        self, weights: list[float], count: int, replacement: bool, message: str
    ) -> None:
        arguments = [np.array(weights, np.float32), count, replacement, None]
        with pytest.raises(KernelArgumentError, match=message):
            drawn("aten::multinomial.out", arguments, LONG, (count,))

    @pytest.mark.parametrize("count", [0, -1, 5])
    def test_impossible_counts_are_refused(self, count: int) -> None:
        with pytest.raises(KernelArgumentError):
            drawn("aten::multinomial.out", [WEIGHTS, count, False, None], LONG, (2, 4))


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        ("aten::randint.low_out", [5, 5, (3,)]),
        ("aten::randint.out", [0, (3,)]),
        ("aten::uniform.out", [LIKE, 2.0, 1.0, None]),
        ("aten::exponential.out", [LIKE, 0.0, None]),
        ("aten::randperm.out", [-1]),
    ],
)
def test_empty_ranges_are_refused(operator: str, arguments: list[object]) -> None:
    with pytest.raises(KernelArgumentError) as caught:
        drawn(operator, arguments, FLOAT, (3,))
    assert caught.value.operator == operator


def test_a_negative_deviation_is_refused() -> None:
    with pytest.raises(KernelArgumentError, match="negative"):
        drawn("aten::normal.float_Tensor_out", [0.0, LIKE - 1, None], FLOAT, (COUNT,))
