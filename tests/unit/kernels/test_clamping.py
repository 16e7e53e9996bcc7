"""Clamping of tensors large and small: two ways to the same result."""

from __future__ import annotations

import math

import numpy as np
import pytest
from every import every

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel.memory import Scratch, allocate_zeroed
from etconfig.kernel.tensor import Tensor
from etconfig.kernels import builtin_kernels
from etconfig.kernels.pointwise.arithmetic import CLIPPED_SIZE

KERNELS = builtin_kernels()


def tensor(size: int, dtype: ScalarType) -> Tensor:
    return Tensor(dtype, (size,), (0,), allocate_zeroed(size * dtype.itemsize_bytes))


@pytest.mark.parametrize("dtype", [ScalarType.FLOAT, ScalarType.DOUBLE, ScalarType.HALF])
@pytest.mark.parametrize("size", [6, CLIPPED_SIZE - 1, CLIPPED_SIZE])
class TestLimits:
    """Elements beyond a limit become the limit; NaN stays NaN, and infinities are limited like numbers."""

    PATTERN = (-math.inf, -2.5, -0.5, 0.5, math.inf, math.nan)

    @every(
        ("operator", "limits", "expected"),
        [
            ("aten::relu.out", (), (0, 0, 0, 0.5, math.inf, math.nan)),
            ("aten::hardtanh.out", (-1, 6), (-1, -1, -0.5, 0.5, 6, math.nan)),
            ("aten::clamp.out", (None, 0.25), (-math.inf, -2.5, -0.5, 0.25, 0.25, math.nan)),
            ("aten::clamp.out", (-1, None), (-1, -1, -0.5, 0.5, math.inf, math.nan)),
            ("aten::clamp.out", (1, -1), (-1, -1, -1, -1, -1, math.nan)),
        ],
    )
    def test_elements_are_limited(
        self,
        operator: str,
        limits: tuple[float | None, ...],
        expected: tuple[float, ...],
        size: int,
        dtype: ScalarType,
    ) -> None:
        x, out = tensor(size, dtype), tensor(size, dtype)
        x.array[:] = np.resize(self.PATTERN, size)
        KERNELS[operator].bind(operator, Scratch(), [x, *limits, out])()
        np.testing.assert_array_equal(out.array, np.resize(expected, size).astype(out.dtype))
