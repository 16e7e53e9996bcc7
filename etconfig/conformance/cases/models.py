"""The programs of the cases, as torch modules. Only lowering and building the cases imports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True, kw_only=True)
class MethodModel:
    """One method of a case.

    Attributes:
        module: What it computes; its weights are fixed.
        inputs: The inputs of each run; the first ones are exported with.
        dynamic_shapes: As `torch.export.export` takes them.
    """

    module: nn.Module
    inputs: Sequence[tuple[Any, ...]]
    dynamic_shapes: Any = None

    def export(self) -> torch.export.ExportedProgram:
        """The method as an exported program."""
        return torch.export.export(self.module, self.inputs[0], dynamic_shapes=self.dynamic_shapes)


@dataclass(frozen=True, kw_only=True)
class CaseModel:
    """One case.

    Attributes:
        name: The case's name.
        doc: What it is, in a few words.
        methods: Its methods, by name.
        requires: The capabilities that it needs besides dtypes and dim orders.
    """

    name: str
    doc: str
    methods: Mapping[str, MethodModel]
    requires: frozenset[str] = field(default_factory=frozenset)


class Add(nn.Module):
    """The sum of two tensors."""

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Left + right."""
        return left + right


def _random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _linear(seed: int) -> nn.Linear:
    layer = nn.Linear(4, 3)
    with torch.no_grad():
        layer.weight.copy_(_random(3, 4, seed=seed))
        layer.bias.copy_(_random(3, seed=seed + 1))
    return layer.eval()


def models() -> tuple[CaseModel, ...]:
    """All cases, the simplest first; the order is that of the report."""
    return (
        CaseModel(
            name="add",
            doc="the sum of two float32 tensors",
            methods={
                "forward": MethodModel(
                    module=Add(),
                    inputs=[(_random(2, 3, seed=n), _random(2, 3, seed=n + 10)) for n in range(3)],
                )
            },
        ),
        CaseModel(
            name="linear",
            doc="a matrix product with a constant weight and bias",
            methods={
                "forward": MethodModel(module=_linear(1), inputs=[(_random(2, 4, seed=n),) for n in range(2)])
            },
        ),
        CaseModel(
            name="two_methods",
            doc="two methods of one signature with other weights",
            methods={
                "a": MethodModel(module=_linear(1), inputs=[(_random(2, 4, seed=n),) for n in range(2)]),
                "b": MethodModel(module=_linear(7), inputs=[(_random(2, 4, seed=n),) for n in range(2)]),
            },
        ),
    )
