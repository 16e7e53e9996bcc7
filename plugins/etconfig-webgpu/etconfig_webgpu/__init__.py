"""The schema of `VulkanBackend` where WebGPU runs it: another implementation under the id of Vulkan."""

from __future__ import annotations

from etconfig.plugin.v1 import BackendRequest, BackendSpec, hookimpl


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """The schema."""
    from etconfig_upstream.vulkan import WEBGPU

    return WEBGPU
