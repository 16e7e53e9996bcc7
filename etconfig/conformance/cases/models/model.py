"""`CaseModel`: what a case is made from, and the numbers that its inputs and weights are made of."""

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
        inputs: The inputs of each run; the first ones are exported with. A tensor that is given twice is
            one array in the case, too.
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


def forward(
    name: str,
    doc: str,
    module: nn.Module,
    *inputs: tuple[Any, ...],
    requires: str | None = None,
    dynamic_shapes: Any = None,
) -> CaseModel:
    """A case of one method, `forward`; `requires` is the capability that it needs, if it needs one."""
    method = MethodModel(module=module, inputs=inputs, dynamic_shapes=dynamic_shapes)
    needed = frozenset[str]() if requires is None else frozenset({requires})
    return CaseModel(name=name, doc=doc, methods={"forward": method}, requires=needed)


def values(*shape: int, seed: int) -> torch.Tensor:
    """Inputs: multiples of 1/4096 between -4 and 4, which no type shorter than float32 holds."""
    return _multiples(shape, 1 / 4096, seed)


def weights(*shape: int, seed: int) -> torch.Tensor:
    """Weights: multiples of 1/16 between -4 and 4.

    With `values`, sums of up to 16 products are exact in float32: in any order, on any processor.
    """
    return _multiples(shape, 1 / 16, seed)


def _multiples(shape: tuple[int, ...], step: float, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    bound = int(4 / step)
    return torch.randint(-bound + 1, bound, shape, generator=generator).float() * step
