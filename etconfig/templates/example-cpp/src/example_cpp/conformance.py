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


def lower(request: LoweringRequest) -> bytes:
    """Return the program of one case of the kit; needs executorch."""
    from executorch.exir import to_edge_transform_and_lower

    from example_cpp.aot import ExampleCppPartitioner

    lowered = to_edge_transform_and_lower(
        dict(request.methods), partitioner=[ExampleCppPartitioner()]
    )
    return bytes(lowered.to_executorch().buffer)


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """Return the golden programs next to this module."""
    return ConformanceContribution(
        api=ApiRange(min=1, built=1), programs=Path(__file__).parent / "golden", lower=lower
    )
