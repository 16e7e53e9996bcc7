"""`VulkanBackend`, which two runtimes register: Vulkan's own, and WebGPU's.

A device has one of the two. This package declares Vulkan's under the id; the package
etconfig-webgpu declares WebGPU's. Source: backends/vulkan/runtime, backends/webgpu/runtime.
"""

from __future__ import annotations

from typing import Literal

from etconfig.plugin.v1 import BackendOptions, BackendSpec, option
from etconfig_upstream.api import API, NoOptions, specs


class WebGpuOptions(BackendOptions):
    """Options of `VulkanBackend` where WebGPU runs it."""

    enable_f16_kv_cache: bool | None = option(
        None, applies="load", doc="Keep cached keys and values in half precision."
    )
    enable_f16_accumulate_gemm: bool | None = option(
        None, applies="load", doc="Add up matrix products in half precision: faster, and less exact."
    )
    sdpa_query_tile: Literal[0, 32] | None = option(
        None,
        applies="load",
        doc="How many queries one group of attention works on: 32, or 0 for the runtime's choice of 16.",
    )


VULKAN = BackendSpec(
    id="VulkanBackend",
    doc="Vulkan: GPUs of Android, Linux and Windows devices.",
    options=NoOptions,
    api=API,
    compile_specs=specs(
        storage_type_override=("int32", "Where tensors are stored: buffers or textures."),
        memory_layout_override=("uint32", "Which dimension of a tensor is packed."),
        require_dynamic_shapes=("bool", "Whether shapes may change."),
        warmup_execute_after_compile=("bool", "Whether to run once when the method is loaded."),
    ),
    environment={"ETVK_DEVICE_INDEX": "The GPU, by its number; read once in a process."},
)

WEBGPU = BackendSpec(
    id="VulkanBackend",
    doc="WebGPU: GPUs through Dawn or a browser. Runs what was exported for Vulkan.",
    options=WebGpuOptions,
    api=API,
    compile_specs=specs(
        webgpu_record_q4gsw_decode_route=("bool", "Whether to record which kernel decodes 4-bit weights.")
    ),
    environment={"WEBGPU_TIMESTAMP_QUERY": "If it is set, kernels are timed."},
)
