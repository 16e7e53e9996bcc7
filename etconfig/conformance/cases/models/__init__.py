"""The programs of the cases, as torch modules. Only lowering and building the cases imports it."""

from __future__ import annotations

from etconfig.conformance.cases.models.dtypes import dtype_cases
from etconfig.conformance.cases.models.elementwise import elementwise_cases
from etconfig.conformance.cases.models.layers import layer_cases
from etconfig.conformance.cases.models.model import CaseModel, MethodModel
from etconfig.conformance.cases.models.shapes import shape_cases

__all__ = ["CaseModel", "MethodModel", "models"]


def models() -> tuple[CaseModel, ...]:
    """All cases, the simplest first; the order is that of the report."""
    return (*elementwise_cases(), *layer_cases(), *shape_cases(), *dtype_cases())
