"""What the conformance kit needs: golden programs, and `lower`, which made them."""

from __future__ import annotations

from pathlib import Path

from etconfig.plugin.v1 import (
    ApiRange,
    ConformanceContribution,
    ConformanceRequest,
    LoweringRequest,
    hookimpl,
)

GOLDEN = Path(__file__).parent / "golden"
"""Golden programs: a directory for each backend."""


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """The programs of one of the two backends."""

    def lower(case: LoweringRequest) -> bytes:
        from etconfig_reference.aot import lower_methods

        return lower_methods(case.methods, request.name, named_data=case.case == "named_data")

    return ConformanceContribution(api=ApiRange(min=1, built=1), programs=GOLDEN / request.name, lower=lower)
