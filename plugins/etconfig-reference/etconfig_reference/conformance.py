"""The contribution to the conformance kit: golden programs, and the function that makes them."""

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
"""The golden programs, in a directory for each backend."""


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """Return the golden programs of one of the two backends."""

    def lower(case: LoweringRequest) -> bytes:
        from etconfig_reference.aot import lower_methods

        return lower_methods(case.methods, request.name, named_data=case.case == "named_data")

    return ConformanceContribution(api=ApiRange(min=1, built=1), programs=GOLDEN / request.name, lower=lower)
