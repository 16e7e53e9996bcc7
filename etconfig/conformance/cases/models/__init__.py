"""The programs of the cases as torch modules, imported only to lower or to build the cases."""

from __future__ import annotations

from etconfig.conformance.cases.models.dtypes import dtype_cases
from etconfig.conformance.cases.models.elementwise import elementwise_cases
from etconfig.conformance.cases.models.layers import large_model, layer_cases
from etconfig.conformance.cases.models.model import CaseModel, MethodModel
from etconfig.conformance.cases.models.shapes import shape_cases

__all__ = ["CaseModel", "MethodModel", "large_model", "models"]


def models() -> tuple[CaseModel, ...]:
    """Return all cases in the order of the report, the simplest first."""
    return (*elementwise_cases(), *layer_cases(), *shape_cases(), *dtype_cases())
