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
from etconfig_onnxruntime.options import OnnxRuntimeOptions

GOLDEN = Path(__file__).parent / "golden"
"""The golden programs."""

_LARGE = "large_linear"

_OBSERVED: Mapping[str, Observed] = {
    "intra_op_num_threads": Observed("threads", values=(1, 4), expect="more", case=_LARGE),
    "optimized_model_filepath": Observed("files", values=("", "{tmp}/optimized.onnx"), case=_LARGE),
}

_UNOBSERVABLE = Unobservable(
    "ONNX Runtime reports the value that it was given, and nothing of what it does with it"
)

EVIDENCE: Mapping[str, Observed | Unobservable] = {
    **dict.fromkeys(OnnxRuntimeOptions.option_infos(), _UNOBSERVABLE),
    **_OBSERVED,
}
"""What changes with each option, or why nothing can be observed."""


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """Return the golden programs."""
    return ConformanceContribution(
        api=ApiRange(min=1, built=1), programs=GOLDEN, lower=lower_case, evidence=EVIDENCE
    )


def lower_case(case: LoweringRequest) -> bytes:
    """Return a .pte of exported methods, each of which is one delegate."""
    from executorch.exir import to_edge_transform_and_lower

    from etconfig_onnxruntime.aot import onnx_partitioner

    partitioners = {name: [onnx_partitioner()] for name in case.methods}
    edge = to_edge_transform_and_lower(dict(case.methods), partitioner=partitioners)
    return bytes(edge.to_executorch().buffer)
