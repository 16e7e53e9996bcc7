"""Cases whose shapes or numbers are known only when they run, or that have no elements."""

from __future__ import annotations

import torch
from torch import nn
from torch.export import Dim

from etconfig.conformance.cases.models.elementwise import Add
from etconfig.conformance.cases.models.layers import linear
from etconfig.conformance.cases.models.model import CaseModel, forward, values

BATCH_SIZES = (3, 1, 8)
"""Rows of the runs of `dynamic_batch`: between, the smallest, the largest that is declared."""


class Scale(nn.Module):
    """A tensor times a number that is an argument."""

    def forward(self, x: torch.Tensor, factor: int) -> torch.Tensor:
        """X * factor."""
        return x * factor


def cases() -> tuple[CaseModel, ...]:
    """The cases of this module, in the order of the report."""
    return (
        forward(
            "dynamic_batch",
            f"a layer for {min(BATCH_SIZES)} to {max(BATCH_SIZES)} rows",
            linear(4, 3, seed=41),
            *[(values(rows, 4, seed=rows),) for rows in BATCH_SIZES],
            requires="supports_dynamic_shapes",
            dynamic_shapes=({0: Dim("rows", min=min(BATCH_SIZES), max=max(BATCH_SIZES))},),
        ),
        forward(
            "zero_size",
            "the sum of two tensors without elements",
            Add(),
            (torch.ones(0, 3), torch.ones(0, 3)),
            requires="supports_zero_size",
        ),
        forward(
            "scalars",
            "a tensor times an integer argument",
            Scale(),
            *[(values(2, 3, seed=factor), factor) for factor in (3, 2, 9)],
            requires="supports_scalars",
            dynamic_shapes=(None, Dim.DYNAMIC),
        ),
    )
