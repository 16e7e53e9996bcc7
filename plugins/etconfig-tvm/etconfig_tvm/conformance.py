"""The contribution to the conformance kit.

Machine code fits one kind of processor, so the golden programs are made where they run: by
`etconfig conformance TvmBackend --lower DIRECTORY`.
"""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.plugin.v1 import (
    ApiRange,
    ConformanceContribution,
    ConformanceRequest,
    LoweringRequest,
    Observed,
    Unobservable,
    hookimpl,
)

_ONE_CORE = "which cores a thread runs on shows in the system's own tables only"

EVIDENCE: Mapping[str, Observed | Unobservable] = {
    "num_threads": Unobservable(
        "a pool keeps its threads, and uses fewer of them; tests measure the processor time of each thread"
    ),
    "cores": Unobservable(_ONE_CORE),
    "pin_threads": Unobservable(_ONE_CORE),
    "memory": Unobservable("both ways have the same memory in use while a delegate runs"),
    "device": Observed("output", values=("cpu", "cuda")),
    "device_index": Unobservable("delegates run on the processor, which has the index 0"),
    "checksum": Unobservable("the checksum of a payload is compared in any case"),
    "runtime": Unobservable("delegates need the minimal runtime only"),
    "runtime_library": Unobservable("any copy of the same library gives the same results"),
}
"""What changes with each option."""


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """Return how golden programs are made, and the evidence of the options."""
    return ConformanceContribution(api=ApiRange(min=1, built=1), lower=lower, evidence=EVIDENCE)


def lower(request: LoweringRequest) -> bytes:
    """Compile the program of a case for this machine."""
    from executorch.exir import to_edge_transform_and_lower

    from etconfig_tvm.aot import tvm_partitioner

    partitioner = [tvm_partitioner(by_operators=True)]
    edge = to_edge_transform_and_lower(dict(request.methods), partitioner=partitioner)
    return bytes(edge.to_executorch().buffer)
