"""The programs of the cases as torch modules, imported only to lower or to build the cases."""

from __future__ import annotations

from etconfig.conformance.cases.models.case_model import CaseModel, MethodModel
from etconfig.conformance.cases.models.elementwise_models import dtype_cases, elementwise_cases
from etconfig.conformance.cases.models.layer_models import large_model, layer_cases
from etconfig.conformance.cases.models.shape_models import shape_cases

__all__ = ["CaseModel", "MethodModel", "large_model", "models"]


def models() -> tuple[CaseModel, ...]:
    """Return all cases in the order of the report, the simplest first."""
    return (*elementwise_cases(), *layer_cases(), *shape_cases(), *dtype_cases())
