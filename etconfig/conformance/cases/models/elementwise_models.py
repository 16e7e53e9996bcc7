"""Cases of elementwise operations, of arguments that are easily mixed up, and of sums in each dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import nn

from etconfig.conformance.cases.models.case_model import CaseModel, forward, values

NAN, INF = float("nan"), float("inf")


class Add(nn.Module):
    """The sum of two tensors."""

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Left + right."""
        return left + right


class MultiplyAdd(nn.Module):
    """Two steps that both read the first input."""

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Left * right + left."""
        return left * right + left


class ThreeOutputs(nn.Module):
    """Outputs of equal shape, so that they differ only in their values."""

    def forward(
        self, left: torch.Tensor, right: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Left - right, left * right, left + right."""
        return left - right, left * right, left + right


class SumAndProduct(nn.Module):
    """Operations that arithmetic for finite numbers only gets wrong."""

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Left + right, left * right."""
        return left + right, left * right


class PassThrough(nn.Module):
    """An input returned next to a result."""

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Left itself, left + right."""
        return left, left + right


class MixedGraph(nn.Module):
    """An operation that is delegated, and another that seldom is."""

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """The running sums of left + right."""
        return torch.cumsum(left + right, dim=1)


def _pairs(count: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(values(2, 3, seed=n), values(2, 3, seed=n + 10)) for n in range(count)]


def _twice(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    both = values(2, 3, seed=seed)
    return both, both


def elementwise_cases() -> tuple[CaseModel, ...]:
    """Return the cases of this module, in the order of the report."""
    return (
        forward("add", "the sum of two float32 tensors", Add(), *_pairs(3)),
        forward(
            "relu_rank0",
            "relu of a tensor without dimensions",
            nn.ReLU(),
            *[(torch.tensor(value),) for value in (2.5, -2.5)],
        ),
        forward("several_outputs", "three outputs of one shape", ThreeOutputs(), *_pairs(2)),
        forward(
            "same_input_twice",
            "two inputs that are one array from the second run on",
            MultiplyAdd(),
            *_pairs(1),
            _twice(2),
            _twice(3),
        ),
        forward(
            "nan_inf",
            "NaN, infinities and overflow in sums and products",
            SumAndProduct(),
            (torch.tensor([NAN, INF, INF, -INF, 3e38, 0.0]), torch.tensor([1.0, -INF, INF, 0.0, 3e38, NAN])),
            (torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), torch.tensor([INF, NAN, -INF, 0.0, 0.5, 1.0])),
        ),
        forward("pass_through", "an output that is an input", PassThrough(), *_pairs(2)),
        forward(
            "mixed_graph",
            "a sum, then running sums that may stay outside of the delegate",
            MixedGraph(),
            *_pairs(2),
        ),
    )


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
