"""`VulkanBackend`, an id that two runtimes register: Vulkan's and WebGPU's.

A device has one of the two. This package declares Vulkan's, the package etconfig-webgpu declares
WebGPU's. Source: backends/vulkan/runtime, backends/webgpu/runtime.
"""

from __future__ import annotations

from typing import Literal

from etconfig.plugin.v1 import BackendOptions, BackendSpec, option
from etconfig_upstream.api import API, NoOptions, specs


class WebGpuOptions(BackendOptions):
    """Options of WebGPU's `VulkanBackend`."""

    enable_f16_kv_cache: bool | None = option(
        None, applies="load", doc="Keep cached keys and values in half precision."
    )
    enable_f16_accumulate_gemm: bool | None = option(
        None, applies="load", doc="Accumulate matrix products in half precision: faster, but less exact."
    )
    sdpa_query_tile: Literal[0, 32] | None = option(
        None,
        applies="load",
        doc="The number of queries per workgroup in attention: 32, or 0 for the runtime's default of 16.",
    )


VULKAN = BackendSpec(
    id="VulkanBackend",
    doc="Vulkan: GPUs of Android, Linux and Windows devices.",
    options=NoOptions,
    api=API,
    compile_specs=specs(
        storage_type_override=("int32", "The storage of tensors: buffers or textures."),
        memory_layout_override=("uint32", "The dimension in which tensors are packed."),
        require_dynamic_shapes=("bool", "Allow shapes to change."),
        warmup_execute_after_compile=("bool", "Run once when the method is loaded."),
    ),
    environment={"ETVK_DEVICE_INDEX": "The number of the GPU; read once per process."},
)

WEBGPU = BackendSpec(
    id="VulkanBackend",
    doc="WebGPU: GPUs through Dawn or a browser. Runs programs that were exported for Vulkan.",
    options=WebGpuOptions,
    api=API,
    compile_specs=specs(
        webgpu_record_q4gsw_decode_route=("bool", "Record which kernel decodes 4-bit weights.")
    ),
    environment={"WEBGPU_TIMESTAMP_QUERY": "If set, measures the time of kernels."},
)
