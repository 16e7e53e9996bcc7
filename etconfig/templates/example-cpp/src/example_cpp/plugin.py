"""The spec, which etconfig loads. The library is loaded only when the backend is needed."""

from __future__ import annotations

from pathlib import Path
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

from example_cpp.options import MIN_TILE_BYTES, ExampleCppOptions

LIBRARY = Path(__file__).with_name("libexample_cpp.so")
"""The library, which `hatch_build.py` builds from `native`."""


def make_backend() -> Backend[Any, Any]:
    """Return a new backend, which calls the library."""
    from etconfig.plugin.v1_c import CBackend

    return CBackend(LIBRARY, SPEC.id)


ADVICE = (
    Advice(
        "tile_bytes",
        expr=f"max({MIN_TILE_BYTES}, cpu.cache.l2 / 2)",
        reason="Half of the level 2 cache is left to the results.",
    ),
)
"""The values that suit a device, as expressions over its facts."""

SPEC = BackendSpec(
    id="ExampleCppBackend",
    doc="Runs elementwise operators and linear layers on the CPU, in C++.",
    options=ExampleCppOptions,
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
