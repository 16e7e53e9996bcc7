"""The spec, which etconfig loads. numpy and the runtime are imported only when they are needed."""

from __future__ import annotations

from typing import Any

from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    Backend,
    BackendRequest,
    BackendSpec,
    Capabilities,
    hookimpl,
)

from example_npu.options import MIN_TILE_BYTES, ExampleNpuOptions


def make_backend() -> Backend[Any, Any]:
    """Return a new backend."""
    from example_npu.runtime import ExampleNpuBackend

    return ExampleNpuBackend()


ADVICE = (
    Advice(
        "tile_bytes",
        expr=f"max({MIN_TILE_BYTES}, cpu.cache.l2 / 2)",
        reason="Half of the level 2 cache is left to the results.",
    ),
)
"""The values that suit a device, as expressions over its facts."""

SPEC = BackendSpec(
    id="ExampleNpuBackend",
    doc="Runs elementwise operators and linear layers on a simulated device.",
    options=ExampleNpuOptions,
    api=ApiRange(min=1, built=1),
    factory=make_backend,
    capabilities=Capabilities(
        dtypes=frozenset({"float32"}), frees_processed=True, is_deterministic=True
    ),
    advice=ADVICE,
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the spec of the backend whose id is `request.name`."""
    return SPEC
