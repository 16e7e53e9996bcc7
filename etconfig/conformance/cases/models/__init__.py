"""The programs of the cases, as torch modules. Only lowering and building the cases imports it."""

from __future__ import annotations

from etconfig.conformance.cases.models import dtypes, elementwise, layers, shapes
from etconfig.conformance.cases.models.model import CaseModel, MethodModel

__all__ = ["CaseModel", "MethodModel", "models"]


def models() -> tuple[CaseModel, ...]:
    """All cases, the simplest first; the order is that of the report."""
    return (*elementwise.cases(), *layers.cases(), *shapes.cases(), *dtypes.cases())
