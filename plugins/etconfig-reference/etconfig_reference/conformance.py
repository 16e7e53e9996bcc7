"""The contribution to the conformance kit: golden programs, and the function that makes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from etconfig.plugin.v1 import (
    ApiRange,
    ConformanceContribution,
    ConformanceRequest,
    LoweringRequest,
    Observed,
    Unobservable,
    hookimpl,
)

_SMALL_TILES = {"scratch_bytes": 4096}
"""The large case then has more than one tile for the workers to share."""

_LARGE = "large_linear"

GOLDEN = Path(__file__).parent / "golden"
"""The golden programs, in a directory for each backend."""

EVIDENCE: Mapping[str, Mapping[str, Observed | Unobservable]] = {
    "ReferenceCpuBackend": {
        "num_threads": Observed("threads", values=(1, 4), expect="more", case=_LARGE, beside=_SMALL_TILES),
        "scratch_bytes": Observed(
            "threads", values=(4096, 1048576), expect="less", case=_LARGE, beside={"num_threads": 4}
        ),
        "accumulate": Observed("output", case=_LARGE),
    },
    "ReferenceNpuBackend": {
        "core": Observed("trace"),
        "power_mode": Observed(
            "time", values=("low", "high"), expect="less", case=_LARGE, beside={"core": 3}
        ),
        "precision": Observed("output"),
        "fault": Observed("output", values=("none", "execute")),
    },
}
"""What changes with each option of a backend."""


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """Return the golden programs of one of the two backends."""

    def lower(case: LoweringRequest) -> bytes:
        from etconfig_reference.aot import lower_methods

        return lower_methods(case.methods, request.name, named_data=case.case == "named_data")

    return ConformanceContribution(
        api=ApiRange(min=1, built=1),
        programs=GOLDEN / request.name,
        lower=lower,
        evidence=EVIDENCE[request.name],
    )
