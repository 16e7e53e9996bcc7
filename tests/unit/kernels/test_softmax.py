"""Softmax over rows in any memory layout: the largest element of a row is found in two ways."""

from __future__ import annotations

import numpy as np
import pytest

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.memory import Scratch, allocate_zeroed
from etconfig.kernel.tensor import Tensor
from etconfig.kernels import builtin_kernels

KERNELS = builtin_kernels()
SHAPES = [(5,), (1, 5), (3, 1), (3, 5), (2, 3, 4)]


def softmax(operator: str, x: np.ndarray, axis: int) -> np.ndarray:
    """Return the kernel's result for an array with these strides."""
    order = tuple(range(x.ndim))
    given, out = (Tensor(ScalarType.FLOAT, x.shape, order, allocate_zeroed(x.nbytes)) for _ in range(2))
    given.set_array(x)
    step = KERNELS[operator].bind(operator, Scratch(), [given, axis, False, out])
    for _ in range(2):
        out.array[...] = np.nan
        step()
    return out.array


def expected(operator: str, x: np.ndarray, axis: int) -> np.ndarray:
    shifted = np.exp(x.astype(float) - x.max(axis, keepdims=True))
    probabilities = shifted / shifted.sum(axis, keepdims=True)
    return np.log(probabilities) if "log" in operator else probabilities


@pytest.mark.parametrize("operator", ["aten::_softmax.out", "aten::_log_softmax.out"])
class TestSoftmax:
    """exp(x - max) / sum of it along one dimension."""

    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    @pytest.mark.parametrize("is_reversed", [False, True])
    def test_along_every_dimension(self, operator: str, shape: tuple[int, ...], is_reversed: bool) -> None:
        x = np.random.default_rng(0).normal(scale=50, size=shape).astype(np.float32)
        x = x.T.copy().T if is_reversed else x
        for axis in range(-len(shape), len(shape)):
            np.testing.assert_allclose(
                softmax(operator, x, axis), expected(operator, x, axis), rtol=1e-5, atol=1e-5
            )

    def test_a_row_with_nan_is_nan_and_others_are_not(self, operator: str) -> None:
        x = np.float32([[1, np.nan, 2], [3, 3, 3]])
        answer = softmax(operator, x, 1)
        assert np.isnan(answer[0]).all()
        np.testing.assert_allclose(answer[1], expected(operator, x[1:], 1)[0], rtol=1e-6)

    def test_a_masked_element_has_no_part(self, operator: str) -> None:
        x = np.float32([[1, -np.inf], [-np.inf, 2]])
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(softmax(operator, x, 1), expected(operator, x, 1))
