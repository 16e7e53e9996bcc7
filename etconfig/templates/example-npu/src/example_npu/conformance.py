"""The contribution to the conformance kit: golden programs, and the function that makes them."""

from __future__ import annotations

from pathlib import Path

from etconfig.plugin.v1 import (
    ApiRange,
    ConformanceContribution,
    ConformanceRequest,
    LoweringRequest,
    Observed,
    hookimpl,
)


def lower(request: LoweringRequest) -> bytes:
    """Return the program of one case of the kit; needs executorch."""
    from executorch.exir import to_edge_transform_and_lower

    from example_npu.aot import example_npu_partitioner

    lowered = to_edge_transform_and_lower(
        dict(request.methods), partitioner=[example_npu_partitioner()]
    )
    return bytes(lowered.to_executorch().buffer)


# What changes with each option: output, time, memory, threads, files or trace. If nothing can be
# observed from outside, write Unobservable("the reason").
EVIDENCE = {
    "tile_bytes": Observed(
        "threads",
        values=(1024, 65536),
        expect="less",
        case="large_linear",
        beside={"num_threads": 4},
    ),
    "num_threads": Observed(
        "threads",
        values=(1, 4),
        expect="more",
        case="large_linear",
        beside={"tile_bytes": 1024},
    ),
}


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """Return the golden programs next to this module."""
    return ConformanceContribution(
        api=ApiRange(min=1, built=1),
        programs=Path(__file__).parent / "golden",
        lower=lower,
        evidence=EVIDENCE,
    )
