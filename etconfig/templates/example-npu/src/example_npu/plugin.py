"""The spec, which etconfig loads. numpy and the runtime are imported only when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from etconfig.plugin.v1 import (
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


def recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Recommend tiles of half the level 2 cache, if its size is known."""
    cache_bytes = facts.get("cpu.cache.l2")
    if not isinstance(cache_bytes, int):
        return {}
    return {"tile_bytes": max(MIN_TILE_BYTES, cache_bytes // 2)}


SPEC = BackendSpec(
    id="ExampleNpuBackend",
    doc="Runs elementwise operators and linear layers on a simulated device.",
    options=ExampleNpuOptions,
    api=ApiRange(min=1, built=1),
    factory=make_backend,
    capabilities=Capabilities(
        dtypes=frozenset({"float32"}), frees_processed=True, is_deterministic=True
    ),
    recommend=recommend,
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the spec of the backend whose id is `request.name`."""
    return SPEC
