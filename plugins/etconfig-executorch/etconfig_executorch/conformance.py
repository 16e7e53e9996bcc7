"""The contribution to the conformance kit for XNNPACK: golden programs, and the function that makes them."""

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

GOLDEN = Path(__file__).parent / "golden"
"""The golden programs, in a directory for each backend."""

XNNPACK_EVIDENCE: Mapping[str, Observed | Unobservable] = {
    "num_threads": Observed("threads", values=(1, 4), expect="more", case="large_linear"),
    "single_threaded": Unobservable("the pool of the process exists, whether or not an instance uses it"),
    "workspace_sharing_mode": Unobservable("the library does not report which instances share memory"),
    "weight_cache_enabled": Unobservable("the library does not report which packed weights are shared"),
    "packed_cache_path": Observed(
        "files", values=(None, "{tmp}/packed.bin"), case="large_linear", beside={"weight_cache_enabled": True}
    ),
}
"""What changes with each option, or why nothing can be observed."""


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """Return the golden programs of XNNPACK."""
    return ConformanceContribution(
        api=ApiRange(min=1, built=1),
        programs=GOLDEN / request.name,
        lower=lower_for_xnnpack,
        evidence=XNNPACK_EVIDENCE,
    )


def lower_for_xnnpack(case: LoweringRequest) -> bytes:
    """Return a .pte of exported methods that delegate as much as possible to XNNPACK."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    partitioners = {name: [XnnpackPartitioner()] for name in case.methods}
    edge = to_edge_transform_and_lower(dict(case.methods), partitioner=partitioners)
    return bytes(edge.to_executorch().buffer)
