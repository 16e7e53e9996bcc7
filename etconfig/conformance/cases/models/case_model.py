"""`CaseModel`: the source of a case, and the numbers of its inputs and weights."""

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
        module: The computation; its weights are fixed.
        inputs: The inputs of each run; the export uses the first ones. A tensor that appears twice is one
            array in the case, too.
        dynamic_shapes: As `torch.export.export` takes them.
    """

    module: nn.Module
    inputs: Sequence[tuple[Any, ...]]
    dynamic_shapes: Any = None

    def export(self) -> torch.export.ExportedProgram:
        """Export the method with the inputs of its first run."""
        return torch.export.export(self.module, self.inputs[0], dynamic_shapes=self.dynamic_shapes)


@dataclass(frozen=True, kw_only=True)
class CaseModel:
    """One case.

    Attributes:
        name: The case's name.
        doc: A few words on what it computes.
        methods: Its methods, by name.
        requires: The capabilities that it needs in addition to dtypes and dim orders.
    """

    name: str
    doc: str
    methods: Mapping[str, MethodModel]
    requires: frozenset[str] = field(default_factory=frozenset)


def forward(
    name: str,
    doc: str,
    module: nn.Module,
    *inputs: tuple[Any, ...],
    requires: str | None = None,
    dynamic_shapes: Any = None,
) -> CaseModel:
    """Return a case with one method, `forward`; `requires` is a capability that it needs."""
    method = MethodModel(module=module, inputs=inputs, dynamic_shapes=dynamic_shapes)
    needed = frozenset[str]() if requires is None else frozenset({requires})
    return CaseModel(name=name, doc=doc, methods={"forward": method}, requires=needed)


def values(*shape: int, seed: int) -> torch.Tensor:
    """Return inputs: multiples of 1/4096 between -4 and 4, which need float32 or wider."""
    return _multiples(shape, 1 / 4096, seed)


def weights(*shape: int, seed: int) -> torch.Tensor:
    """Return weights: multiples of 1/16 between -4 and 4.

    Sums of up to 16 products with `values` are exact in float32, in any order and on any processor.
    """
    return _multiples(shape, 1 / 16, seed)


def _multiples(shape: tuple[int, ...], step: float, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    bound = int(4 / step)
    return torch.randint(-bound + 1, bound, shape, generator=generator).float() * step
