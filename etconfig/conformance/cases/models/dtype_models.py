"""A sum in each element type, of numbers that another type cannot represent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch

from etconfig.conformance.cases.models.case_model import CaseModel, forward
from etconfig.conformance.cases.models.elementwise_models import Add

_Run: TypeAlias = tuple[Sequence[float], Sequence[float]]

_FEW: _Run = ((1, 2, 3, 4), (5, 5, 5, 5))


def _sums(dtype: torch.dtype, *runs: _Run) -> CaseModel:
    name = str(dtype).removeprefix("torch.")
    inputs = [(torch.tensor(left, dtype=dtype), torch.tensor(right, dtype=dtype)) for left, right in runs]
    return forward(f"add_{name}", f"the sum of two {name} tensors", Add(), *inputs)


def _small_differences(step: float) -> _Run:
    """Sums that consist only of the last bits of their terms."""
    return [1 + n * step for n in range(1, 5)], [-1.0] * 4


def dtype_cases() -> tuple[CaseModel, ...]:
    """Return the cases of this module, in the order of the report."""
    return (
        _sums(
            torch.float64, _small_differences(2**-50), ([1e300, -1e300, 0.5, 2.0], [1e300, 1.0, 0.25, 3.0])
        ),
        _sums(torch.float16, _small_differences(2**-10), ([30000, -60000, 0.5, 2.0], [30000, 32, 0.25, 3.0])),
        _sums(torch.bfloat16, _small_differences(2**-7), ([1e38, -1e38, 0.5, 2.0], [1e38, 1.0, 0.25, 3.0])),
        # the last two of the first run wrap around
        _sums(torch.int64, ([2**53, -(2**62), 2**63 - 1, -(2**63)], [1, -1, 1, -1]), _FEW),
        _sums(torch.int32, ([2**24, -(2**30), 2**31 - 1, -(2**31)], [1, -1, 1, -1]), _FEW),
        _sums(torch.int8, ([100, -100, 100, -100], [27, -28, 100, -100]), _FEW),
        _sums(torch.uint8, ([200, 0, 200, 255], [55, 3, 100, 255]), _FEW),
        # a sum of bools is their logical or
        _sums(
            torch.bool, ([False, False, True, True], [False, True, False, True]), ([True] * 4, [False] * 4)
        ),
    )
