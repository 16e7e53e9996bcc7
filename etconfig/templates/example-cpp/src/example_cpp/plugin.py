"""The spec, which etconfig loads. The library is loaded only when the backend is needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etconfig.plugin.v1 import (
    ApiRange,
    Backend,
    BackendRequest,
    BackendSpec,
    Capabilities,
    hookimpl,
)

from example_cpp.options import MIN_TILE_BYTES, ExampleCppOptions

LIBRARY = Path(__file__).with_name("libexample_cpp.so")
"""The library, which `hatch_build.py` builds from `native`."""


def make_backend() -> Backend[Any, Any]:
    """Return a new backend, which calls the library."""
    from etconfig.plugin.v1_c import CBackend

    return CBackend(LIBRARY, SPEC.id)


def recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Recommend tiles of half the level 2 cache, if its size is known."""
    cache_bytes = facts.get("cpu.cache.l2")
    if not isinstance(cache_bytes, int):
        return {}
    return {"tile_bytes": max(MIN_TILE_BYTES, cache_bytes // 2)}


SPEC = BackendSpec(
    id="ExampleCppBackend",
    doc="Runs elementwise operators and linear layers on the CPU, in C++.",
    options=ExampleCppOptions,
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
