"""The remainder of a division has the sign of the divisor; a zero has that of the dividend, as in PyTorch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_cases import Recorded

from etconfig.kernel.memory import Scratch
from etconfig.kernels import builtin_kernels

DIVIDENDS = [0.0, -0.0, 0.0, -0.0, 3.0, -3.0, 5.0, -5.0]
DIVISORS = [2.0, 2.0, -2.0, -2.0, -3.0, 3.0, -3.0, 3.0]
REMAINDERS = ["0.0", "-0.0", "0.0", "-0.0", "0.0", "-0.0", "-1.0", "1.0"]


def remainders(operator: str, dividends: np.ndarray, divisor: Any) -> list[str]:
    """Return the kernel's results as text, which shows the sign of zero."""
    out, self = (Recorded(dividends, (0,)).tensor() for _ in range(2))
    self.array[:] = dividends
    builtin_kernels()[operator].bind(operator, Scratch(), [self, divisor, out])()
    return [str(float(each)) for each in out.array]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
class TestSignOfZero:
    """Dividing by a result shows the sign of a zero."""

    def test_of_tensors(self, dtype: Any) -> None:
        divisor = Recorded(np.array(DIVISORS, dtype), (0,)).tensor()
        divisor.array[:] = DIVISORS
        found = remainders("aten::remainder.Tensor_out", np.array(DIVIDENDS, dtype), divisor)
        assert found == REMAINDERS

    def test_of_a_tensor_and_a_number(self, dtype: Any) -> None:
        dividends = np.array(DIVIDENDS, dtype)
        for number in (2.0, -2.0):
            found = remainders("aten::remainder.Scalar_out", dividends, number)
            assert found[:4] == REMAINDERS[:4]
