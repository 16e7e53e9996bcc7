"""The schemas, which etconfig loads one by one, when it needs them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from etconfig.plugin.v1 import BackendRequest, BackendSpec, hookimpl

_MODULES: Mapping[str, tuple[str, str]] = {
    "CoreMLBackend": ("coreml", "SPEC"),
    "CudaBackend": ("cuda", "SPEC"),
    "MLXBackend": ("mlx", "SPEC"),
    "QnnBackend": ("qnn", "SPEC"),
    "VulkanBackend": ("vulkan", "VULKAN"),
    "XnnpackBackend": ("xnnpack", "SPEC"),
}


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the schema of one backend."""
    return schema_of(request.name)


def schema_of(backend: str) -> BackendSpec:
    """Return the schema of one backend, by its id.

    Raises:
        KeyError: this package has none.
    """
    if backend in _MODULES:
        module, name = _MODULES[backend]
        spec: BackendSpec = getattr(importlib.import_module(f"etconfig_upstream.{module}"), name)
        return spec
    from etconfig_upstream.fixed import SPECS

    return SPECS[backend]
