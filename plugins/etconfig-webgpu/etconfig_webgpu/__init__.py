"""The schema of `VulkanBackend` for WebGPU: another implementation under the id of Vulkan."""

from __future__ import annotations

from etconfig.plugin.v1 import BackendRequest, BackendSpec, hookimpl


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the schema."""
    from etconfig_upstream.vulkan import WEBGPU

    return WEBGPU
