"""GELU, for which numpy has no function: its precision, in blocks and in memory with gaps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.memory import Scratch, allocate_zeroed
from etconfig.kernel.tensor import Tensor
from etconfig.kernels import builtin_kernels
from etconfig.kernels.pointwise.gelu import BLOCK

GELU = "aten::gelu.out"


def gelu(x: np.ndarray, approximate: str = "none") -> np.ndarray:
    """Return the kernel's result for an array with these strides, from the second of two runs."""
    scalar_type = ScalarType.FLOAT if x.dtype == np.float32 else ScalarType.DOUBLE
    order = tuple(range(x.ndim))
    given, out = (Tensor(scalar_type, x.shape, order, allocate_zeroed(x.nbytes)) for _ in range(2))
    given.set_array(x)
    step = builtin_kernels()[GELU].bind(GELU, Scratch(), [given, approximate, out])
    with np.errstate(over="ignore", invalid="ignore"):  # as in an execute
        for _ in range(2):
            step()
    return out.array


def exact(x: np.ndarray) -> np.ndarray:
    return np.array([each * math.erfc(-each / math.sqrt(2)) / 2 for each in x.ravel().tolist()]).reshape(
        x.shape
    )


class TestGelu:
    """x P(X <= x) for a standard normal X."""

    def test_it_is_exact_to_the_last_digits_of_float32(self) -> None:
        x = np.linspace(-12, 12, 20_001, dtype=np.float32)
        np.testing.assert_allclose(gelu(x), exact(x), rtol=1.5e-7, atol=6e-7)

    def test_it_is_exact_in_float64(self) -> None:
        x = np.linspace(-6, 6, 201)
        np.testing.assert_allclose(gelu(x), exact(x), rtol=1e-15, atol=1e-15)

    def test_the_approximation_by_tanh(self) -> None:
        x = np.linspace(-6, 6, 201, dtype=np.float32)
        inner = math.sqrt(2 / math.pi) * (x.astype(float) + 0.044715 * x.astype(float) ** 3)
        np.testing.assert_allclose(gelu(x, "tanh"), x * (1 + np.tanh(inner)) / 2, atol=6e-7)

    @pytest.mark.parametrize("approximate", ["none", "tanh"])
    def test_the_largest_numbers_infinity_and_nan(self, approximate: str) -> None:
        """The result for -infinity is NaN, 0 times infinity, as in PyTorch."""
        x = np.float32([1e5, 3e38, np.inf, -1e5, -3e38, -np.inf, np.nan])
        expected = [1e5, 3e38, np.inf, 0, 0, np.nan, np.nan]
        np.testing.assert_array_equal(gelu(x, approximate), np.float32(expected))

    @pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 1])
    def test_every_element_of_every_block_is_written(self, size: int) -> None:
        x = np.resize(np.linspace(-4, 4, 97, dtype=np.float32), size)
        np.testing.assert_array_equal(gelu(x), np.resize(gelu(x[:97]), size))

    def test_memory_with_gaps(self) -> None:
        x = np.linspace(-4, 4, 60, dtype=np.float32).reshape(6, 10)
        np.testing.assert_array_equal(gelu(x[::2, 1::3]), gelu(x)[::2, 1::3])
