"""OpenVINO's properties behind the options: their keys, the devices that have them, their defaults and words.

Read from SUPPORTED_PROPERTIES of OpenVINO 2026.4.1 for CPU, NPU, AUTO, MULTI, HETERO and BATCH; a test
compares
them with the installed library. The properties of the GPU are from its source (options.inl) and its library,
since its plugin does not load without a GPU's OpenCL driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

CORE = "core"
"""The mark of a property that OpenVINO itself handles, for every device."""


@dataclass(frozen=True)
class Property:
    """A property of OpenVINO that an option sets.

    Attributes:
        key: OpenVINO's key.
        defaults: OpenVINO's own value for each device that has the property, as the option spells it; None
            where it depends on the machine.
        words: OpenVINO's word for each value of the option, where they differ.
        adjustable: The values by which the caller leaves the choice to OpenVINO: what is in force may differ.
        can_change: True if a loaded model takes a new value.
        only: The devices that take a value, where not all that have the property do.
    """

    key: str
    defaults: Mapping[str, object]
    words: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    adjustable: tuple[object, ...] = ()
    can_change: bool = False
    only: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that have it."""
        return tuple(self.defaults)

    def takers(self, value: object) -> tuple[str, ...]:
        """Return the devices that have the property and take a value of the option."""
        words = value if isinstance(value, tuple) else (value,)
        limits = [self.only[word] for word in words if isinstance(word, str) and word in self.only]
        return tuple(device for device in self.devices if all(device in limit for limit in limits))


def _upper(*words: str) -> Mapping[str, str]:
    return MappingProxyType({word: word.upper() for word in words})


_HINTS = _upper("latency", "throughput", "cumulative_throughput")
_MODES = _upper("performance", "accuracy")
_PRIORITIES = _upper("low", "medium", "high")
_LEVELS = {
    "no": "LOG_NONE",
    "error": "LOG_ERROR",
    "warning": "LOG_WARNING",
    "info": "LOG_INFO",
    "debug": "LOG_DEBUG",
    "trace": "LOG_TRACE",
}
_CPU_GPU = ("CPU", "GPU")


def _same(default: object, *devices: str) -> Mapping[str, object]:
    return dict.fromkeys(devices, default)


PROPERTIES: Mapping[str, Property] = MappingProxyType(
    {
        "cache_dir": Property("CACHE_DIR", {CORE: ""}),
        "cache_mode": Property(
            "CACHE_MODE", {CORE: "optimize_speed"}, words=_upper("optimize_size", "optimize_speed")
        ),
        "enable_mmap": Property("ENABLE_MMAP", {CORE: True}),
        "performance_hint": Property(
            "PERFORMANCE_HINT", _same("latency", "CPU", "GPU", "NPU", "AUTO", "MULTI"), words=_HINTS
        ),
        "performance_hint_num_requests": Property(
            "PERFORMANCE_HINT_NUM_REQUESTS",
            {**_same(0, "CPU", "GPU"), "NPU": 1, **_same(0, "AUTO", "MULTI")},
        ),
        "execution_mode": Property(
            "EXECUTION_MODE_HINT", _same("performance", "CPU", "GPU", "AUTO", "MULTI"), words=_MODES
        ),
        "num_streams": Property("NUM_STREAMS", {"CPU": 1, "GPU": 1, "NPU": -1}, adjustable=(-1, -2)),
        "perf_count": Property("PERF_COUNT", _same(False, "CPU", "GPU", "NPU", "AUTO", "MULTI", "BATCH")),
        "log_level": Property(
            "LOG_LEVEL", {"CPU": "no", "NPU": "error", "AUTO": "no", "MULTI": "no"}, words=_LEVELS
        ),
        "cpu_inference_precision": Property("INFERENCE_PRECISION_HINT", {"CPU": None}),
        "inference_num_threads": Property("INFERENCE_NUM_THREADS", {"CPU": 0}, adjustable=(0,)),
        "enable_cpu_pinning": Property("ENABLE_CPU_PINNING", {"CPU": True, "GPU": False}),
        "enable_cpu_reservation": Property("ENABLE_CPU_RESERVATION", _same(False, *_CPU_GPU)),
        "enable_hyper_threading": Property("ENABLE_HYPER_THREADING", {"CPU": True}),
        "enable_tensor_parallel": Property("ENABLE_TENSOR_PARALLEL", {"CPU": False}),
        "enable_weightless": Property("ENABLE_WEIGHTLESS", {"CPU": False}),
        "cpu_denormals_optimization": Property("CPU_DENORMALS_OPTIMIZATION", {"CPU": False}),
        "scheduling_core_type": Property(
            "SCHEDULING_CORE_TYPE", {"CPU": "any_core"}, words=_upper("any_core", "pcore_only", "ecore_only")
        ),
        "model_distribution_policy": Property(
            "MODEL_DISTRIBUTION_POLICY",
            {"CPU": (), "HETERO": ()},
            words=_upper("tensor_parallel", "pipeline_parallel"),
            only={"tensor_parallel": ("CPU",), "pipeline_parallel": ("HETERO",)},
        ),
        "tbb_partitioner": Property("TBB_PARTITIONER", {"CPU": None}, words=_upper("static", "auto")),
        "cpu_sparse_weights_decompression_rate": Property(
            "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE", {"CPU": 1.0}
        ),
        "dynamic_quantization_group_size": Property("DYNAMIC_QUANTIZATION_GROUP_SIZE", {"CPU": 32, "GPU": 0}),
        "kv_cache_precision": Property(
            "KV_CACHE_PRECISION", {"CPU": "u8", "GPU": "dynamic"}, only={"dynamic": ("GPU",)}
        ),
        "key_cache_precision": Property("KEY_CACHE_PRECISION", {"CPU": "u8"}),
        "value_cache_precision": Property("VALUE_CACHE_PRECISION", {"CPU": "u8"}),
        "key_cache_group_size": Property("KEY_CACHE_GROUP_SIZE", {"CPU": 0}),
        "value_cache_group_size": Property("VALUE_CACHE_GROUP_SIZE", {"CPU": 0}),
        "weights_path": Property("WEIGHTS_PATH", {"CPU": "", "GPU": "", "NPU": ""}),
        "auto_enable_startup_fallback": Property("ENABLE_STARTUP_FALLBACK", {"AUTO": True}),
        "auto_enable_runtime_fallback": Property("ENABLE_RUNTIME_FALLBACK", {"AUTO": True}),
        "auto_schedule_policy": Property(
            "SCHEDULE_POLICY",
            _same("device_priority", "AUTO", "MULTI"),
            words=_upper("device_priority", "round_robin"),
        ),
        "auto_device_bind_buffer": Property("DEVICE_BIND_BUFFER", _same(False, "AUTO", "MULTI")),
        "auto_low_power_device": Property("LOW_POWER_DEVICE", {"AUTO": ""}),
        "auto_devices_utilization_threshold": Property("DEVICES_UTILIZATION_THRESHOLD", {"AUTO": {}}),
        "model_priority": Property(
            "MODEL_PRIORITY", _same("medium", "GPU", "NPU", "AUTO", "MULTI"), words=_PRIORITIES
        ),
        "batch_timeout_ms": Property("AUTO_BATCH_TIMEOUT", {"BATCH": 1000}),
        "gpu_inference_precision": Property("INFERENCE_PRECISION_HINT", {"GPU": "f16"}),
        "gpu_compilation_num_threads": Property("COMPILATION_NUM_THREADS", {"GPU": None}),
        "gpu_host_task_priority": Property("GPU_HOST_TASK_PRIORITY", {"GPU": "medium"}, words=_PRIORITIES),
        "gpu_queue_priority": Property("GPU_QUEUE_PRIORITY", {"GPU": "medium"}, words=_PRIORITIES),
        "gpu_queue_throttle": Property("GPU_QUEUE_THROTTLE", {"GPU": "medium"}, words=_PRIORITIES),
        "gpu_enable_sdpa_optimization": Property("GPU_ENABLE_SDPA_OPTIMIZATION", {"GPU": True}),
        "gpu_enable_lora_operation": Property("GPU_ENABLE_LORA_OPERATION", {"GPU": True}),
        "gpu_enable_large_allocations": Property("GPU_ENABLE_LARGE_ALLOCATIONS", {"GPU": False}),
        "gpu_enable_loop_unrolling": Property("GPU_ENABLE_LOOP_UNROLLING", {"GPU": True}),
        "gpu_enable_kernels_reuse": Property("GPU_ENABLE_KERNELS_REUSE", {"GPU": False}),
        "gpu_disable_winograd_convolution": Property("GPU_DISABLE_WINOGRAD_CONVOLUTION", {"GPU": False}),
        "gpu_dynamic_quantization_group_size_max": Property(
            "GPU_DYNAMIC_QUANTIZATION_GROUP_SIZE_MAX", {"GPU": None}
        ),
        "gpu_activations_scale_factor": Property("ACTIVATIONS_SCALE_FACTOR", {"GPU": -1.0}),
        "gpu_config_file": Property("CONFIG_FILE", {"GPU": ""}),
        "npu_compiler_type": Property(
            "NPU_COMPILER_TYPE", {"NPU": "prefer_plugin"}, words=_upper("prefer_plugin", "plugin", "driver")
        ),
        "npu_bypass_umd_caching": Property("NPU_BYPASS_UMD_CACHING", {"NPU": False}),
        "npu_defer_weights_load": Property("NPU_DEFER_WEIGHTS_LOAD", {"NPU": False}),
        "npu_compilation_mode_params": Property("NPU_COMPILATION_MODE_PARAMS", {"NPU": ""}),
        "npu_turbo": Property("NPU_TURBO", {"NPU": False}),
        "npu_tiles": Property("NPU_TILES", {"NPU": None}),
        "npu_workload_type": Property(
            "WORKLOAD_TYPE", {"NPU": "default"}, words=_upper("default", "efficient"), can_change=True
        ),
    }
)
"""The property of each option; the option `device` chooses the device, and `adjusted_values` is
etconfig's."""

READ_ONLY_ROLES: Mapping[str, str] = MappingProxyType(
    {
        "DEVICE_ID": "part of the option device, as in GPU.1",
        "MULTI_DEVICE_PRIORITIES": "part of the option device, as in AUTO:GPU,CPU",
        "PERF_CURVE_TABLE": "a nested table that OpenVINO's Python API cannot take",
        "CACHE_ENCRYPTION_CALLBACKS": "functions, which a profile cannot name",
    }
)
"""The writable properties of OpenVINO without an option, and why."""


def default_text(name: str) -> str:
    """Return OpenVINO's own values for an option in a sentence, such as `OpenVINO's own: 1 (CPU).`."""
    by_value: dict[str, list[str]] = {}
    for device, default in PROPERTIES[name].defaults.items():
        by_value.setdefault(_shown(default), []).append(device)
    parts = [
        value if devices == [CORE] else f"{value} ({', '.join(devices)})"
        for value, devices in by_value.items()
    ]
    return f"OpenVINO's own: {', '.join(parts)}."


def _shown(default: object) -> str:
    if default is None:
        return "depends on the machine"
    if isinstance(default, bool):
        return str(default).lower()
    return "empty" if default in ("", (), {}) else str(default)
