"""What the conformance kit needs to check XNNPACK: golden programs, and `lower`, which made them."""

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
    """The programs of XNNPACK."""
    return ConformanceContribution(
        api=ApiRange(min=1, built=1), programs=GOLDEN / request.name, lower=lower_for_xnnpack
    )


def lower_for_xnnpack(case: LoweringRequest) -> bytes:
    """A .pte of exported methods that delegate to XNNPACK all that it takes."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    partitioners = {name: [XnnpackPartitioner()] for name in case.methods}
    edge = to_edge_transform_and_lower(dict(case.methods), partitioner=partitioners)
    return bytes(edge.to_executorch().buffer)
