"""The tables of the option `providers`: a class for each execution provider, with the options of it.

A field that is not set is not passed, so that ONNX Runtime's own default applies. Only the CPU provider could
be run where these were written; the others follow ONNX Runtime's documentation.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args

from etconfig.plugin.v1 import Ge, Le, OptionTable, model_validator, option
from etconfig_onnxruntime.provider_libraries import described_libraries
from etconfig_onnxruntime.provider_names import PROVIDERS, short_name

_Switch: TypeAlias = bool | None
_Text: TypeAlias = str | None
_Count: TypeAlias = Annotated[int, Ge(0), Le(2**31 - 1)] | None
_Bytes: TypeAlias = Annotated[int, Ge(0)] | None


def _set(doc: str, unit: str | None = None) -> Any:
    return option(None, applies="load", doc=doc, unit=unit)


class _Accelerator(OptionTable):
    """A provider that may be newer than this package."""

    unchecked: dict[str, str] = option(
        {},
        applies="load",
        doc="Options that this package does not know, by ONNX Runtime's keys. Nobody checks them: most "
        "providers ignore a misspelt one.",
    )

    @model_validator(mode="after")
    def _check_keys(self) -> Any:
        mistake = _mistake(self)
        if mistake:
            raise ValueError(mistake)
        return self


class CpuProvider(OptionTable):
    """The CPU. ONNX Runtime has no options of it beside the session's options."""

    also_called = ("CPUExecutionProvider",)
    provider: Literal["cpu"] = "cpu"


class CudaProvider(_Accelerator):
    """GPUs of NVIDIA."""

    also_called = ("CUDAExecutionProvider",)
    provider: Literal["cuda"] = "cuda"
    device_id: _Count = _set("The number of the GPU.")
    gpu_mem_limit: _Bytes = _set("The most memory of the arena.", "bytes")
    arena_extend_strategy: Literal["kNextPowerOfTwo", "kSameAsRequested"] | None = _set(
        "The growth of the arena."
    )
    cudnn_conv_algo_search: Literal["EXHAUSTIVE", "HEURISTIC", "DEFAULT"] | None = _set(
        "The search for the algorithm of a convolution."
    )
    cudnn_conv_use_max_workspace: _Switch = _set("Let convolutions use all memory that they can.")
    cudnn_conv1d_pad_to_nc1d: _Switch = _set("Pad 1-dimensional convolutions to [N, C, 1, D].")
    do_copy_in_default_stream: _Switch = _set("Copy in the stream that computes.")
    enable_cuda_graph: _Switch = _set("Record the work of a run and replay it.")
    enable_skip_layer_norm_strict_mode: _Switch = _set("Add in fp32 in SkipLayerNormalization.")
    prefer_nhwc: _Switch = _set("Prefer kernels for NHWC.")
    use_tf32: _Switch = _set("Multiply in TF32. Results change.")
    use_ep_level_unified_stream: _Switch = _set("Use one stream for all threads.")
    sdpa_kernel: _Count = _set("The kernels of attention that may be used, as bits.")
    tunable_op_enable: _Switch = _set("Use operators that can be tuned.")
    tunable_op_tuning_enable: _Switch = _set("Tune them.")
    tunable_op_max_tuning_duration_ms: _Count = _set("The time limit of tuning.", "ms")


class TensorrtProvider(_Accelerator):
    """GPUs of NVIDIA through TensorRT."""

    also_called = ("TensorrtExecutionProvider",)
    provider: Literal["tensorrt"] = "tensorrt"
    device_id: _Count = _set("The number of the GPU.")
    trt_max_partition_iterations: _Count = _set("The most rounds of partitioning.")
    trt_min_subgraph_size: _Count = _set("The least number of nodes of a part.")
    trt_max_workspace_size: _Bytes = _set("The most memory for work.", "bytes")
    trt_fp16_enable: _Switch = _set("Allow fp16. Results change.")
    trt_bf16_enable: _Switch = _set("Allow bf16. Results change.")
    trt_int8_enable: _Switch = _set("Allow int8. Results change.")
    trt_int8_calibration_table_name: _Text = _set("The file with the ranges for int8.")
    trt_int8_use_native_calibration_table: _Switch = _set("That file is one of TensorRT.")
    trt_dla_enable: _Switch = _set("Use the deep learning accelerator of Jetson.")
    trt_dla_core: _Count = _set("The number of its core.")
    trt_dump_subgraphs: _Switch = _set("Write the parts as files.")
    trt_engine_cache_enable: _Switch = _set("Keep built engines in files.")
    trt_engine_cache_path: _Text = _set("The directory of these files.")
    trt_engine_cache_prefix: _Text = _set("The beginning of their names.")
    trt_timing_cache_enable: _Switch = _set("Keep the times of kernels in a file.")
    trt_timing_cache_path: _Text = _set("The directory of that file.")
    trt_force_timing_cache: _Switch = _set("Use the file of another GPU of the kind.")
    trt_force_sequential_engine_build: _Switch = _set("Build engines one after another.")
    trt_context_memory_sharing_enable: _Switch = _set("Share the memory of contexts.")
    trt_layer_norm_fp32_fallback: _Switch = _set("Compute layer normalization in fp32.")
    trt_builder_optimization_level: Annotated[int, Ge(0), Le(5)] | None = _set("The effort of building.")
    trt_auxiliary_streams: Annotated[int, Ge(-1), Le(2**31 - 1)] | None = _set("The further streams.")
    trt_sparsity_enable: _Switch = _set("Use sparse weights.")
    trt_cuda_graph_enable: _Switch = _set("Record the work of a run and replay it.")
    trt_detailed_build_log: _Switch = _set("Log the building of engines in detail.")
    trt_profile_min_shapes: _Text = _set("The smallest shapes of inputs: `input:1x3x8x8`.")
    trt_profile_max_shapes: _Text = _set("The largest shapes of inputs.")
    trt_profile_opt_shapes: _Text = _set("The shapes of inputs to optimize for.")


class OpenvinoProvider(_Accelerator):
    """Devices of Intel through OpenVINO."""

    also_called = ("OpenVINOExecutionProvider",)
    provider: Literal["openvino"] = "openvino"
    device_type: _Text = _set("The device: `CPU`, `GPU.0`, `NPU`, `AUTO:GPU,CPU`, `HETERO:NPU,CPU`.")
    precision: Literal["FP32", "FP16", "ACCURACY"] | None = _set("The precision of computations.")
    num_of_threads: Annotated[int, Ge(1), Le(1024)] | None = _set("The threads.", "threads")
    num_streams: Annotated[int, Ge(1), Le(1024)] | None = _set("The runs at a time.")
    cache_dir: _Text = _set("The directory for compiled models.")
    load_config: _Text = _set("A JSON file with properties of OpenVINO by device.")
    enable_opencl_throttling: _Switch = _set("Use less of the CPU while the GPU works.")
    enable_qdq_optimizer: _Switch = _set("Optimize quantized models for NPUs.")
    disable_dynamic_shapes: _Switch = _set("Compile the model again for each shape.")
    model_priority: Literal["LOW", "MEDIUM", "HIGH", "DEFAULT"] | None = _set(
        "The priority among models on a device."
    )


class QnnProvider(_Accelerator):
    """Processors of Qualcomm."""

    also_called = ("QNNExecutionProvider",)
    provider: Literal["qnn"] = "qnn"
    backend_type: Literal["cpu", "gpu", "htp", "saver", "ir"] | None = _set("The processor.")
    backend_path: _Text = _set("The library of the processor, instead of backend_type.")
    device_id: _Count = _set("The number of the processor.")
    soc_model: _Text = _set("The number of the chip; 0 if it is unknown.")
    htp_arch: Literal["0", "68", "69", "73", "75", "81"] | None = _set("The architecture of the HTP.")
    htp_performance_mode: (
        Literal[
            "default",
            "burst",
            "balanced",
            "high_performance",
            "high_power_saver",
            "low_balanced",
            "low_power_saver",
            "power_saver",
            "extreme_power_saver",
            "sustained_high_performance",
        ]
        | None
    ) = _set("The clock of the HTP.")
    htp_graph_finalization_optimization_mode: Literal["0", "1", "2", "3"] | None = _set(
        "The effort of compiling."
    )
    qnn_context_priority: Literal["low", "normal", "normal_high", "high"] | None = _set(
        "The priority among models."
    )
    vtcm_mb: _Count = _set("The memory on the chip in MB.")
    rpc_control_latency: _Count = _set("The latency of calls.", "us")
    enable_htp_fp16_precision: _Switch = _set("Compute fp32 models in fp16.")
    enable_htp_weight_sharing: _Switch = _set("Share weights between graphs of a compiled model.")
    offload_graph_io_quantization: _Switch = _set("Quantize inputs and outputs on the CPU.")
    profiling_level: Literal["off", "basic", "detailed"] | None = _set("The detail of profiles.")
    profiling_file_path: _Text = _set("The file of profiles.")
    qnn_saver_path: _Text = _set("The library that saves calls for debugging.")


class CoremlProvider(_Accelerator):
    """Processors of Apple through Core ML."""

    also_called = ("CoreMLExecutionProvider",)
    provider: Literal["coreml"] = "coreml"
    model_format: Literal["NeuralNetwork", "MLProgram"] | None = _set("The format to convert to.")
    compute_units: Literal["ALL", "CPUOnly", "CPUAndGPU", "CPUAndNeuralEngine"] | None = _set(
        "The processors that may run the model."
    )
    require_static_input_shapes: _Switch = _set("Leave nodes whose shapes can change to other providers.")
    enable_on_subgraphs: _Switch = _set("Run nodes inside of control flow, too.")
    specialization_strategy: Literal["Default", "FastPrediction"] | None = _set(
        "Faster runs for slower loading."
    )
    profile_compute_plan: _Switch = _set("Log the processor of each operator.")
    allow_low_precision_accumulation_on_gpu: _Switch = _set("Add in fp16 on the GPU. Results change.")
    model_cache_directory: _Text = _set("The directory for compiled models.")


class DirectmlProvider(_Accelerator):
    """GPUs on Windows through DirectML."""

    also_called = ("DmlExecutionProvider",)
    provider: Literal["directml"] = "directml"
    device_id: _Count = _set("The number of the GPU.")
    performance_preference: Literal["default", "high_performance", "minimum_power"] | None = _set(
        "The kind of device to choose."
    )
    device_filter: Literal["gpu", "npu", "any"] | None = _set("The devices to choose from.")
    disable_metacommands: _Switch = _set("Do not use the commands of the driver.")
    enable_graph_capture: _Switch = _set("Record the work of a run and replay it.")


_BufferCache: TypeAlias = Literal["disabled", "lazyRelease", "simple", "bucket"] | None


class WebgpuProvider(_Accelerator):
    """GPUs through WebGPU."""

    also_called = ("WebGpuExecutionProvider",)
    provider: Literal["webgpu"] = "webgpu"
    device_id: _Count = _set("The number of the device in the application.")
    preferred_layout: Literal["NCHW", "NHWC"] | None = _set("The layout of images.")
    enable_graph_capture: _Switch = _set("Record the work of a run and replay it.")
    dawn_backend_type: Literal["Vulkan", "D3D12"] | None = _set("The driver below WebGPU.")
    validation_mode: Literal["disabled", "wgpuOnly", "basic", "full"] | None = _set("The checks.")
    force_cpu_node_names: _Text = _set("The names of nodes that run on the CPU, in lines.")
    storage_buffer_cache_mode: _BufferCache = _set("The reuse of buffers for tensors.")
    uniform_buffer_cache_mode: _BufferCache = _set("The reuse of buffers for arguments.")
    query_resolve_buffer_cache_mode: _BufferCache = _set("The reuse of buffers for times.")
    default_buffer_cache_mode: _BufferCache = _set("The reuse of other buffers.")


class PluginProvider(_Accelerator):
    """A provider of any other library, by the description of its maker."""

    provider: Literal["plugin"] = "plugin"
    name: str = option(applies="load", doc="The name of the provider in ONNX Runtime.")
    device_type: Literal["cpu", "gpu", "npu"] | None = _set(
        "The kind of its devices; otherwise the first one."
    )
    options: dict[str, str] = option(
        {}, applies="load", doc="Options that the description of the provider lists."
    )


Provider: TypeAlias = (
    CpuProvider
    | CudaProvider
    | TensorrtProvider
    | OpenvinoProvider
    | QnnProvider
    | CoremlProvider
    | DirectmlProvider
    | WebgpuProvider
    | PluginProvider
)
"""One provider with its options; `provider` chooses the class."""

_TABLES: Mapping[str, type[Provider]] = {
    table.model_fields["provider"].default: table for table in get_args(Provider)
}

KEYS: Mapping[str, Mapping[str, str]] = {
    "coreml": {
        "model_format": "ModelFormat",
        "compute_units": "MLComputeUnits",
        "require_static_input_shapes": "RequireStaticInputShapes",
        "enable_on_subgraphs": "EnableOnSubgraphs",
        "specialization_strategy": "SpecializationStrategy",
        "profile_compute_plan": "ProfileComputePlan",
        "allow_low_precision_accumulation_on_gpu": "AllowLowPrecisionAccumulationOnGPU",
        "model_cache_directory": "ModelCacheDirectory",
    },
    "webgpu": {
        "device_id": "deviceId",
        "preferred_layout": "preferredLayout",
        "enable_graph_capture": "enableGraphCapture",
        "dawn_backend_type": "dawnBackendType",
        "validation_mode": "validationMode",
        "force_cpu_node_names": "forceCpuNodeNames",
        "storage_buffer_cache_mode": "storageBufferCacheMode",
        "uniform_buffer_cache_mode": "uniformBufferCacheMode",
        "query_resolve_buffer_cache_mode": "queryResolveBufferCacheMode",
        "default_buffer_cache_mode": "defaultBufferCacheMode",
    },
}
"""The keys of options that ONNX Runtime spells differently, by provider and field."""

_SWITCHES: Mapping[str, tuple[str, str]] = {"openvino": ("True", "False"), "directml": ("true", "false")}
"""The texts of True and False, where they are not `1` and `0`."""


def provider_name(table: Provider) -> str:
    """Return the name of a provider in options; the name in ONNX Runtime if options have none for it."""
    return table.name if isinstance(table, PluginProvider) else table.provider


def provider_names(tables: tuple[Provider, ...]) -> tuple[str, ...]:
    """Return the names of providers, in order."""
    return tuple(map(provider_name, tables))


def _fields(table: _Accelerator) -> Mapping[str, str]:
    """Return the place of each known option of a provider, by ONNX Runtime's key."""
    if isinstance(table, PluginProvider):
        libraries, _ = described_libraries()
        described = libraries[table.name].options if table.name in libraries else table.options
        return {key: f"options.{key}" for key in described}
    name = type(table).model_fields["provider"].default
    keys = KEYS.get(name, {})
    return {
        keys.get(field, field): field
        for field in table.option_infos()
        if field not in ("provider", "unchecked")
    }


def _mistake(table: _Accelerator) -> str:
    """Return what is wrong with the keys of a provider; an empty text if nothing is."""
    for key, text in {**getattr(table, "options", {}), **table.unchecked}.items():
        if not key or "\0" in key + text:  # it would cut the text off
            return f"{key!r} is {text!r}; a key must not be empty, and nothing contains a null character"
    if isinstance(table, PluginProvider):
        if not table.name or "\0" in table.name:
            return f"name is {table.name!r}; expected the name of a provider"
        short = short_name(table.name)
        if short in PROVIDERS:
            return f"name is {table.name!r}; set provider = {short!r} instead, which has options of its own"
        libraries, problems = described_libraries()
        if table.options and table.name not in libraries:
            listed = ", ".join(map(repr, libraries)) or "none"
            return "; ".join(
                [
                    f"no description of {table.name!r} is here (those here: {listed}), so nothing checks "
                    "options; install the package of its maker, or move them to unchecked",
                    *problems,
                ]
            )
        known = libraries[table.name].options if table.options else {}
        for key, text in table.options.items():
            if key not in known:
                listed = ", ".join(known) or "none"
                return f"{table.name} has no option {key!r}; it has {listed}; unchecked takes others"
            if not known[key].accepts(text):
                return f"options.{key} is {text!r}; expected {known[key].expected}"
    fields = _fields(table)
    known_key = next((key for key in table.unchecked if key in fields), None)
    return (
        "" if known_key is None else f"unchecked has the known option {known_key!r}; set {fields[known_key]}"
    )


def provider_options(table: Provider) -> dict[str, str]:
    """Return the options of a provider that are set, as ONNX Runtime takes them: texts by key."""
    if isinstance(table, CpuProvider):
        return {}
    if isinstance(table, PluginProvider):
        return {**table.options, **table.unchecked}
    true, false = _SWITCHES.get(table.provider, ("1", "0"))
    return {
        key: (true if value else false) if isinstance(value, bool) else str(value)
        for key, field in _fields(table).items()
        if (value := getattr(table, field)) is not None
    } | table.unchecked


def reported_provider(
    name: str, reported: Mapping[str, str], asked: Provider | None = None
) -> Provider | str:
    """Return a provider with the options that ONNX Runtime reports of it; its name if it has no table.

    Args:
        name: The name of the provider in options.
        reported: The texts by key. Texts that do not suit the field, and keys without one, are left out.
        asked: The table that was asked for, if any: it decides which keys are unchecked.
    """
    if isinstance(asked, PluginProvider):
        parts = {
            part: {key: reported[key] for key in getattr(asked, part) if key in reported}
            for part in ("options", "unchecked")
        }
        return asked.model_copy(update=parts)  # no check: the description may have changed
    table = _TABLES.get(name)
    if table is None:
        return name
    keys = KEYS.get(name, {})
    found: dict[str, Any] = {"provider": name}
    if isinstance(asked, _Accelerator):
        found["unchecked"] = {key: reported[key] for key in asked.unchecked if key in reported}
    for field, info in table.option_infos().items():
        text = reported.get(keys.get(field, field))
        value = None if text is None else _read(info.type.kind.value, text)
        if value is not None and (not info.choices or value in info.choices):
            found[field] = value
    return table(**found)


def _read(kind: str, text: str) -> object:
    """Return the value that a text of ONNX Runtime means, or None if it is none of this kind of option."""
    if kind == "boolean":
        return {"1": True, "true": True, "0": False, "false": False}.get(text.lower())
    if kind == "integer":
        return int(text) if text.isdecimal() and len(text) < 19 else None
    return text
