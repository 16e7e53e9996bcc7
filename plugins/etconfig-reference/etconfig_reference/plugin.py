"""What etconfig loads: the specs of both reference backends.

Neither numpy nor a backend is imported until one is made, so that configurations can be
checked quickly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from etconfig.plugin.v1 import (
    ApiRange,
    Backend,
    BackendRequest,
    BackendSpec,
    Capabilities,
    CompileSpecEncoding,
    CompileSpecInfo,
    hookimpl,
)
from etconfig_reference.options import MIN_SCRATCH_BYTES, ReferenceCpuOptions, ReferenceNpuOptions

_API = ApiRange(min=1, built=1)

NPU_VARIABLE = "ETCONFIG_REFERENCE_NPU"
"""Set to `off`, it takes the simulated device away."""

COMPILE_SPECS: Mapping[str, CompileSpecInfo] = {
    "named_data": CompileSpecInfo(
        doc="Whether constants were stored as named data of the program instead of in the payload.",
        encoding=CompileSpecEncoding.BOOL,
    )
}
"""What both backends take."""

CAPABILITIES: Mapping[str, Capabilities] = {
    "ReferenceCpuBackend": Capabilities(
        dtypes=frozenset(
            {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool"}
        ),
        dim_orders=frozenset({"contiguous", "channels_last"}),
        precision={"float64": 1e-12, "float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3},
        supports_dynamic_shapes=True,
        supports_zero_size=True,
        supports_scalars=True,
        uses_named_data=True,
        is_deterministic=True,
    ),
    "ReferenceNpuBackend": Capabilities(
        dim_orders=frozenset({"contiguous", "channels_last"}),
        frees_processed=True,
        uses_named_data=True,
        is_deterministic=True,
    ),
}
"""What each backend takes; the partitioner delegates what is claimed here, and `init` refuses the rest."""


def make_cpu_backend() -> Backend[Any, Any]:
    """A `ReferenceCpuBackend`."""
    from etconfig_reference.cpu import ReferenceCpuBackend

    return ReferenceCpuBackend()


def make_npu_backend() -> Backend[Any, Any]:
    """A `ReferenceNpuBackend`."""
    from etconfig_reference.npu import ReferenceNpuBackend

    return ReferenceNpuBackend()


def recommend_cpu_options(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Tiles of half the level 2 cache, where its size is known: the other half is for the results."""
    cache_bytes = facts.get("cpu.cache.l2")
    if not isinstance(cache_bytes, int):
        return {}
    return {"scratch_bytes": max(MIN_SCRATCH_BYTES, cache_bytes // 2)}


SPECS: Mapping[str, BackendSpec] = {
    spec.id: spec
    for spec in (
        BackendSpec(
            id="ReferenceCpuBackend",
            doc="Computes delegates with numpy, on several workers.",
            options=ReferenceCpuOptions,
            api=_API,
            factory=make_cpu_backend,
            compile_specs=COMPILE_SPECS,
            capabilities=CAPABILITIES["ReferenceCpuBackend"],
            recommend=recommend_cpu_options,
        ),
        BackendSpec(
            id="ReferenceNpuBackend",
            doc="Simulates an accelerator with four cores: real results, simulated time.",
            options=ReferenceNpuOptions,
            api=_API,
            factory=make_npu_backend,
            compile_specs=COMPILE_SPECS,
            environment={NPU_VARIABLE: "`off` takes the simulated device away; `on` is the default."},
            capabilities=CAPABILITIES["ReferenceNpuBackend"],
        ),
    )
}


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """The spec of the backend that is asked for."""
    return SPECS[request.name]
