"""The options of `OpenvinoBackend`. This module does not import OpenVINO."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from etconfig.plugin.v1 import BackendOptions, Consumes, Ge, Gt, Le, Len, Wire, model_validator, option
from etconfig_openvino.errors import OptionConflictsError
from etconfig_openvino.properties import PROPERTIES, default_text
from etconfig_openvino.rules import find_problems

Priority = Literal["low", "medium", "high"]
KvPrecision = Literal["u3", "u4", "u8", "bf16", "f16", "f32", "dynamic"]
KeyPrecision = Literal["u3", "u4", "u8", "i8", "bf16", "f16", "f32"]
ValuePrecision = Literal["u3", "u4", "u8", "bf16", "f16", "f32"]

_NOT_COMPILED = frozenset(("cache_dir", "enable_mmap", "log_level", "npu_workload_type"))
"""The options without an effect on what OpenVINO compiles."""

_NOT_CARRIED = Wire(key=None)
"""ExecuTorch's own runtime for OpenVINO reads no options, so nothing could carry them to it."""

_CPU_THREADS = Consumes(
    "threads",
    counts=dict.fromkeys((None, 0), "cpu.physical_cores"),
    only_if={"device": "CPU"},
    otherwise=None,
)
"""By itself, OpenVINO takes one per physical core. What other devices take of the CPU is unknown."""

Int32 = Annotated[int, Ge(0), Le(2**31 - 1)]
"""A number that OpenVINO keeps in 32 bits."""

Int64 = Annotated[int, Ge(0), Le(2**63 - 1)]
"""A number that OpenVINO's Python API takes."""


def _property(
    name: str,
    doc: str,
    unit: str | None = None,
    tune: bool | tuple[object, ...] | None = None,
    consumes: Consumes | None = None,
) -> Any:
    """Declare the option of a property, which OpenVINO decides itself if nothing sets it."""
    can_change = PROPERTIES[name].can_change
    return option(
        None,
        doc=f"{doc} {default_text(name)}",
        applies="execute" if can_change else "load",
        unit=unit,
        tune=tune,
        consumes=consumes,
        invalidates_cache=name not in _NOT_COMPILED,
        wire=_NOT_CARRIED,
    )


class OpenvinoOptions(BackendOptions):
    """Options of `OpenvinoBackend`: OpenVINO's properties by device. None leaves a choice to OpenVINO."""

    device: str = option(
        "CPU",
        applies="load",
        wire=_NOT_CARRIED,
        invalidates_cache=True,
        doc="The device: CPU, GPU, GPU.1 or NPU; or several behind a virtual one: AUTO:GPU,CPU takes the "
        "first "
        "that can run the model, HETERO:GPU,CPU divides a model among them, MULTI:GPU,CPU divides the "
        "requests, "
        "and BATCH:GPU(8) collects requests.",
    )
    adjusted_values: Literal["refuse", "report"] = option(
        "refuse",
        applies="load",
        wire=_NOT_CARRIED,
        doc="What happens if OpenVINO replaces a value, such as 64 threads on two cores by 2: an error "
        "when the "
        "model is loaded, or a warning. The values in force can be read either way.",
    )

    cache_dir: Annotated[str, Len(1)] | None = _property(
        "cache_dir",
        "A directory for compiled models. Each model, set of options, OpenVINO and driver has a directory of "
        "its own in it, so that no stale model is loaded. Blobs of ExecuTorch's partitioner are not cached: "
        "they are compiled already.",
    )
    cache_mode: Literal["optimize_size", "optimize_speed"] | None = _property(
        "cache_mode", "The contents of the cache: without weights it is smaller, and loads more slowly."
    )
    enable_mmap: bool | None = _property(
        "enable_mmap", "Map files of models into memory instead of reading them."
    )
    performance_hint: Literal["latency", "throughput", "cumulative_throughput"] | None = _property(
        "performance_hint",
        "The aim, from which OpenVINO derives streams, threads and batching.",
        tune=("latency", "throughput"),
    )
    performance_hint_num_requests: Int32 | None = _property(
        "performance_hint_num_requests",
        "The number of requests that the application runs at once, which limits the streams; 0 is any "
        "number.",
        unit="count",
    )
    execution_mode: Literal["performance", "accuracy"] | None = _property(
        "execution_mode", "The aim: performance may lose accuracy to gain speed."
    )
    num_streams: Annotated[int, Ge(-2), Le(2**31 - 1)] | None = _property(
        "num_streams",
        "The number of requests that the device runs side by side; -1 is OpenVINO's choice (AUTO), -2 one "
        "for each NUMA node (NUMA). On the CPU, 0 runs requests on the thread that calls.",
    )
    perf_count: bool | None = _property(
        "perf_count", "Measure the time of each layer; this takes time itself."
    )
    log_level: Literal["no", "error", "warning", "info", "debug", "trace"] | None = _property(
        "log_level", "The messages that OpenVINO prints."
    )

    cpu_inference_precision: Literal["f32", "f16", "bf16", "dynamic"] | None = _property(
        "cpu_inference_precision",
        "The type in which the CPU computes. OpenVINO takes bf16 wherever the processor can: this rounds "
        "inputs and weights to 8 significant bits. Without effect if no CPU runs the model.",
        tune=("f32", "f16", "bf16"),
    )
    inference_num_threads: Int32 | None = _property(
        "inference_num_threads",
        "The threads of the CPU for one model; 0 is OpenVINO's choice.",
        unit="threads",
        tune=True,
        consumes=_CPU_THREADS,
    )
    enable_cpu_pinning: bool | None = _property("enable_cpu_pinning", "Pin threads to cores.", tune=True)
    enable_cpu_reservation: bool | None = _property(
        "enable_cpu_reservation",
        "Keep the cores of this model from all other models of the process. While it is loaded, those that "
        "need "
        "more cores than are left cannot be loaded.",
    )
    enable_hyper_threading: bool | None = _property(
        "enable_hyper_threading", "Also use the second thread of each core."
    )
    enable_tensor_parallel: bool | None = _property(
        "enable_tensor_parallel", "Divide single layers among the sockets of the machine."
    )
    enable_weightless: bool | None = _property(
        "enable_weightless", "Leave weights out of exported models, which then need weights_path."
    )
    cpu_denormals_optimization: bool | None = _property(
        "cpu_denormals_optimization", "Compute with zero in place of denormal numbers."
    )
    scheduling_core_type: Literal["any_core", "pcore_only", "ecore_only"] | None = _property(
        "scheduling_core_type", "The cores to use, on processors with performance and efficiency cores."
    )
    model_distribution_policy: tuple[Literal["tensor_parallel", "pipeline_parallel"], ...] | None = _property(
        "model_distribution_policy",
        "How one model is divided: tensor_parallel among sockets (CPU), pipeline_parallel among devices "
        "(HETERO).",
    )
    tbb_partitioner: Literal["static", "auto"] | None = _property(
        "tbb_partitioner", "How work is divided among threads: in equal parts, or by whoever is free."
    )
    cpu_sparse_weights_decompression_rate: Annotated[float, Ge(0), Le(1)] | None = _property(
        "cpu_sparse_weights_decompression_rate",
        "The share of zeros from which weights are stored compressed.",
        unit="fraction",
    )
    dynamic_quantization_group_size: Int64 | None = _property(
        "dynamic_quantization_group_size",
        "The number of activations that share a scale when they are quantized at run time; 0 does not "
        "quantize.",
    )
    kv_cache_precision: KvPrecision | None = _property(
        "kv_cache_precision", "The type of the cached keys and values of attention."
    )
    key_cache_precision: KeyPrecision | None = _property("key_cache_precision", "The type of cached keys.")
    value_cache_precision: ValuePrecision | None = _property(
        "value_cache_precision", "The type of cached values."
    )
    key_cache_group_size: Int64 | None = _property(
        "key_cache_group_size", "The number of cached keys that share a scale; 0 is OpenVINO's choice."
    )
    value_cache_group_size: Int64 | None = _property(
        "value_cache_group_size", "The number of cached values that share a scale; 0 is OpenVINO's choice."
    )
    weights_path: Annotated[str, Len(1)] | None = _property(
        "weights_path", "The file of the weights of a model that was exported without them."
    )

    auto_enable_startup_fallback: bool | None = _property(
        "auto_enable_startup_fallback", "Run on the CPU until a model is compiled for another device."
    )
    auto_enable_runtime_fallback: bool | None = _property(
        "auto_enable_runtime_fallback", "Go on with the next device if one fails."
    )
    auto_schedule_policy: Literal["device_priority", "round_robin"] | None = _property(
        "auto_schedule_policy", "How requests are divided among several devices."
    )
    auto_device_bind_buffer: bool | None = _property(
        "auto_device_bind_buffer", "Keep the memory of each request on one device."
    )
    auto_low_power_device: Literal["CPU", "GPU", "NPU"] | None = _property(
        "auto_low_power_device", "The device to prefer where power counts."
    )
    auto_devices_utilization_threshold: dict[str, Annotated[int, Ge(0), Le(100)]] | None = _property(
        "auto_devices_utilization_threshold",
        "The load of each device, in percent, above which AUTO chooses another one.",
        unit="percent",
    )
    model_priority: Priority | None = _property(
        "model_priority", "The rank of this model among those that want the same device."
    )
    batch_timeout_ms: Int32 | None = _property(
        "batch_timeout_ms", "The time that BATCH waits for more requests.", unit="ms"
    )

    gpu_inference_precision: Literal["f32", "f16", "dynamic"] | None = _property(
        "gpu_inference_precision", "The type in which the GPU computes."
    )
    gpu_compilation_num_threads: Annotated[int, Ge(1), Le(2**31 - 1)] | None = _property(
        "gpu_compilation_num_threads", "The threads that compile a model for the GPU.", unit="threads"
    )
    gpu_host_task_priority: Priority | None = _property(
        "gpu_host_task_priority",
        "The kind of CPU core for the work beside the GPU: high is a performance core.",
    )
    gpu_queue_priority: Priority | None = _property(
        "gpu_queue_priority", "The rank of this model's queue on the GPU."
    )
    gpu_queue_throttle: Priority | None = _property(
        "gpu_queue_throttle", "How much CPU time waiting for the GPU takes: low saves power."
    )
    gpu_enable_sdpa_optimization: bool | None = _property(
        "gpu_enable_sdpa_optimization", "Compute attention with one kernel."
    )
    gpu_enable_lora_operation: bool | None = _property(
        "gpu_enable_lora_operation", "Compute LoRA adapters with one kernel."
    )
    gpu_enable_large_allocations: bool | None = _property(
        "gpu_enable_large_allocations", "Allow buffers above 4 GB, which are slower."
    )
    gpu_enable_loop_unrolling: bool | None = _property("gpu_enable_loop_unrolling", "Unroll loops.")
    gpu_enable_kernels_reuse: bool | None = _property(
        "gpu_enable_kernels_reuse", "Share equal kernels among layers, which compiles faster."
    )
    gpu_disable_winograd_convolution: bool | None = _property(
        "gpu_disable_winograd_convolution", "Do without Winograd's algorithm, which is faster and less exact."
    )
    gpu_dynamic_quantization_group_size_max: Int64 | None = _property(
        "gpu_dynamic_quantization_group_size_max",
        "The largest dynamic_quantization_group_size; larger ones do not quantize.",
    )
    gpu_activations_scale_factor: Annotated[float, Gt(0)] | None = _property(
        "gpu_activations_scale_factor", "A divisor of activations, against overflow in f16."
    )
    gpu_config_file: Annotated[str, Len(1)] | None = _property(
        "gpu_config_file", "A file with kernels of your own."
    )

    npu_compiler_type: Literal["prefer_plugin", "plugin", "driver"] | None = _property(
        "npu_compiler_type", "The compiler of models for the NPU."
    )
    npu_bypass_umd_caching: bool | None = _property(
        "npu_bypass_umd_caching", "Do without the driver's own cache of compiled models."
    )
    npu_defer_weights_load: bool | None = _property(
        "npu_defer_weights_load", "Load weights with the first inference, not with the model."
    )
    npu_compilation_mode_params: Annotated[str, Len(1)] | None = _property(
        "npu_compilation_mode_params", "Settings of the NPU's compiler, such as optimization-level=2."
    )
    npu_turbo: bool | None = _property("npu_turbo", "Run at the highest clock.")
    npu_tiles: Annotated[int, Ge(1), Le(2**31 - 1)] | None = _property(
        "npu_tiles", "The tiles of the NPU to compile for."
    )
    npu_workload_type: Literal["default", "efficient"] | None = _property(
        "npu_workload_type", "The power that the NPU takes. It can change while the model is loaded."
    )

    @model_validator(mode="after")
    def _check_together(self) -> OpenvinoOptions:
        problems = list(find_problems(self))
        if problems:
            raise OptionConflictsError(*problems)
        return self
