"""The spec, which etconfig loads. Neither numpy nor the backend is imported until one is made."""

from __future__ import annotations

from typing import Any

from acme_vector.options import AcmeVectorOptions
from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    Backend,
    BackendRequest,
    BackendSpec,
    Capabilities,
    hookimpl,
)


def make_backend() -> Backend[Any, Any]:
    """A new backend."""
    from acme_vector.backend import AcmeVectorBackend

    return AcmeVectorBackend()


ADVICE = [
    Advice(
        "tile_bytes",
        expr="max(1024, cpu.cache.l2 / 2)",
        reason="Half of the level 2 cache is left to the results.",
    )
]


SPEC = BackendSpec(
    id="AcmeVectorBackend",
    doc="Runs element-wise operators on Acme's vector unit.",
    options=AcmeVectorOptions,
    api=ApiRange(min=1, built=1),
    factory=make_backend,
    capabilities=Capabilities(dtypes=frozenset({"float32"}), frees_processed=True),
    advice=ADVICE,
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """The spec of the backend whose id is `request.name`."""
    return SPEC
