"""Cases whose shapes or numbers are known only at run time, or whose tensors have no elements."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.export import Dim

from etconfig.conformance.cases.models.case_model import CaseModel, forward, values
from etconfig.conformance.cases.models.elementwise_models import Add
from etconfig.conformance.cases.models.layer_models import linear_layer

ROWS = (3, 1, 8)
"""Rows of the runs: one between the declared bounds, the smallest, the largest."""


class ScaleByRows(nn.Module):
    """A tensor times a number known only at run time, which the delegate gets as an argument."""

    def forward(self, x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """X times the number of rows of `other`, whose values are not used."""
        return x * other.size(0)


def _rows() -> Any:
    return Dim("rows", min=min(ROWS), max=max(ROWS))


def shape_cases() -> tuple[CaseModel, ...]:
    """Return the cases of this module, in the order of the report."""
    return (
        forward(
            "dynamic_batch",
            f"a layer for {min(ROWS)} to {max(ROWS)} rows",
            linear_layer(4, 3, seed=41),
            *[(values(rows, 4, seed=rows),) for rows in ROWS],
            requires="supports_dynamic_shapes",
            dynamic_shapes=({0: _rows()},),
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
            "a tensor times the number of rows of another",
            ScaleByRows(),
            *[(values(2, 3, seed=rows), torch.ones(rows, 1)) for rows in ROWS],
            requires="supports_scalars",
            dynamic_shapes=(None, {0: _rows()}),
        ),
    )
