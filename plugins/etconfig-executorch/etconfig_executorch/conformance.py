"""The contribution to the conformance kit for XNNPACK: golden programs, and the function that makes them."""

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
    """Return the golden programs of XNNPACK."""
    return ConformanceContribution(
        api=ApiRange(min=1, built=1), programs=GOLDEN / request.name, lower=lower_for_xnnpack
    )


def lower_for_xnnpack(case: LoweringRequest) -> bytes:
    """Return a .pte of exported methods that delegate as much as possible to XNNPACK."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    partitioners = {name: [XnnpackPartitioner()] for name in case.methods}
    edge = to_edge_transform_and_lower(dict(case.methods), partitioner=partitioners)
    return bytes(edge.to_executorch().buffer)
