"""The config entries of ONNX Runtime 1.32 that have no option of their own, for sessions and for runs."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.plugin.v1 import KnownKey
from etconfig_onnxruntime.session_entries import INT32_MAX
from etconfig_onnxruntime.versions import with_versions

UINT32_MAX = 2**32 - 1

_EXPERTS = "Offloading of the weights of mixtures of experts: "


def _expert(doc: str, kind: str = "string") -> KnownKey:
    return KnownKey(doc=_EXPERTS + doc, kind=kind)  # type: ignore[arg-type]  # one of the kinds below


def _switch(doc: str) -> KnownKey:
    return KnownKey(doc=doc, kind="boolean")


def _number(doc: str, maximum: int | None = None) -> KnownKey:
    return KnownKey(doc=doc, kind="integer", minimum=0, maximum=maximum)


_EXPERT_ENTRIES: Mapping[str, KnownKey] = {
    f"session.moe.offload.{key}": known
    for key, known in {
        "allow_file_backing": _expert("leave weights in the file.", "boolean"),
        "async_max_tokens": _expert("the most tokens to load weights beside.", "integer"),
        "budget_group": _expert("the sessions that share a budget."),
        "cpu_execution": _expert("run experts on the CPU."),
        "cpu_threads": _expert("the threads for that.", "integer"),
        "derived_cache_dir": _expert("the directory of converted weights."),
        "device_expert_bytes": _expert("the memory for experts on the device.", "integer"),
        "device_working_bytes": _expert("the memory for work on the device.", "integer"),
        "gpu_budget_bytes": _expert("the memory on the GPU.", "integer"),
        "gpu_device_mem_limit": _expert("the limit of the GPU's memory.", "integer"),
        "host_expert_bytes": _expert("the memory for experts on the host.", "integer"),
        "host_working_bytes": _expert("the memory for work on the host.", "integer"),
        "min_expert_weight": _expert("the least weight of an expert that runs."),
        "mode": _expert("the mode."),
        "node_overrides": _expert("settings of single nodes."),
        "pinned_bytes": _expert("the pinned memory.", "integer"),
        "placement": _expert("the place of each expert."),
        "popularity_file": _expert("the file that counts the use of experts."),
        "prefill_wave_experts": _expert("the experts that are loaded at a time.", "integer"),
        "reserve_device_bytes": _expert("the memory of the device to leave free.", "integer"),
        "skip_tail_cold_only": _expert("leave out rare experts that are not loaded.", "boolean"),
        "skip_zero_cold_doorbell": _expert("do not wake the loader for nothing.", "boolean"),
        "source_root": _expert("the directory of the weights."),
        "tail_substitution_min_rank": _expert("the rank from which experts are replaced.", "integer"),
        "tail_substitution_threshold": _expert("the weight below which experts are replaced."),
    }.items()
}

_SESSION_ENTRIES: Mapping[str, KnownKey] = {
    "ep.context_model_external_initializers_file_name": KnownKey(
        doc="The file for the weights of a compiled model that run on the CPU."
    ),
    "ep.context_source_model_path": KnownKey(doc="The file that a compiled model was made from."),
    "ep.context_node_name_prefix": KnownKey(doc="The beginning of the names of a compiled model's nodes."),
    "ep.cpu.qmoe_deferred_scale": KnownKey(doc="Scale quantized mixtures of experts late. CPU only."),
    "ep.cuda.fpa_intb_dequant_gemm_min_m": _number("The rows from which CUDA dequantizes weights first."),
    "ep.cuda.fpa_intb_gemm": KnownKey(doc="The kernels of CUDA for weights of 4 and 8 bits."),
    "ep.cuda.fpa_intb_profile_m": _number("The rows for which CUDA measures these kernels."),
    "ep.cuda.gqa_workspace_max_total_sequence_length": _number(
        "The longest sequence that CUDA's attention reserves memory for.", INT32_MAX
    ),
    "ep.cuda.matmul_nbits_m_chunk_size": _number("The rows that CUDA's MatMulNBits computes at a time."),
    "ep.cuda.moe_packed_gpu_experts": _number("The packed experts that CUDA keeps.", UINT32_MAX),
    "ep.cuda.runtime_fusion.causal_conv_with_state": KnownKey(doc="Fuse causal convolutions in CUDA."),
    "ep.cuda.runtime_fusion.unit_swish": KnownKey(doc="Fuse the Swish activation in CUDA."),
    "ep.enable_weightless": KnownKey(doc="Leave the weights out of compiled models."),
    "ep.enable_weightless_mode": KnownKey(
        doc="The weights that compiled models leave out: none (0), external ones (1) or all (2).",
        choices=("0", "1", "2"),
    ),
    "ep.enable_weightless_ep_context_nodes": _switch("Leave the weights out of compiled models."),
    "ep.nnapi.partitioning_stop_ops": KnownKey(doc="Operators after which NNAPI runs no more nodes."),
    "ep.share_ep_contexts": _switch("Share what providers compiled with other sessions."),
    "ep.stop_share_ep_contexts": _switch("Stop sharing it with sessions that are created later."),
    "mlas.enable_gemm_fastmath_arm64_bfloat16": _switch(
        "Multiply fp32 matrices in bfloat16. Results change. Arm only."
    ),
    "mlas.kleidiai.conv_igemm_max_work": _number("The largest convolution that KleidiAI runs. Arm only."),
    "mlas.nchwc_depthwise_sliding": KnownKey(doc="Use the sliding kernels for depthwise convolutions."),
    "mlas.nchwc_pointwise_conv_max_input_channel_batch": _number(
        "The most input channels of a pointwise convolution to compute at a time.", UINT32_MAX
    ),
    "session.collect_node_memory_stats_to_file": KnownKey(doc="The CSV file for the memory of each node."),
    "session.compile_only": _switch("Compile the model and do not prepare it to run."),
    "session.debug_layout_transformation": _switch("Write the model after its layout was changed."),
    "session.enable_dq_matmulnbits_fusion": _switch("Fuse DequantizeLinear and MatMul to MatMulNBits."),
    "session.enable_moe_expert_counting": _switch("Count the use of each expert of a mixture."),
    "session.enable_moe_expert_statistics": _switch("Log statistics of the experts of a mixture."),
    "session.enable_saved_runtime_optimizations": _switch("Apply optimizations that an ORT model has saved."),
    "session.function_expansion_byte_limit": _number("The most bytes that inlining functions may add."),
    "session.function_expansion_node_limit": _number("The most nodes that inlining functions may add."),
    "session.gqa_value_layout": KnownKey(
        doc="The order of dimensions in the values of attention.", choices=("BNSH", "BNHS")
    ),
    "session.external_data_loader.chunk_bytes": _number("The size of reads of external weights."),
    "session.external_data_loader.min_size_bytes": _number("The least size of weights to read so."),
    "session.external_data_loader.pinned_memory_bytes": _number("The pinned memory for such reads."),
    "session.external_data_loader.threads": _number("The threads for such reads."),
    "session.kernel_dispatch_policy": KnownKey(
        doc="The aim by which kernels are chosen.", choices=("", "auto", "latency", "memory", "safe")
    ),
    "session.layer_assignment_settings": KnownKey(
        doc="Devices of nodes by their annotations: `gpu(layer1,=layer2); cpu(layer3)`."
    ),
    "session.max_shape_override": KnownKey(doc="The largest shapes to plan memory for."),
    "session.moe_expert_counter_alpha": KnownKey(doc="The weight of new counts of experts."),
    "session.moe_expert_counter_beta": KnownKey(doc="The weight of old counts of experts."),
    "session.moe_expert_counter_state_file": KnownKey(doc="The file that keeps the counts of experts."),
    "session.name_based_layer_assignment": KnownKey(doc="Devices of nodes by parts of their names."),
    "session.node_partition_config_file": KnownKey(doc="The file that assigns nodes to streams."),
    "session.optimized_model_external_initializers_file_name": KnownKey(
        doc="The file for the weights of the optimized model."
    ),
    "session.optimized_model_external_initializers_min_size_in_bytes": _number(
        "The least size of weights to put into that file."
    ),
    "session.prepack.enable_parallel": _switch("Pack weights on several threads."),
    "session.resource_cuda_partitioning_settings": KnownKey(
        doc="The memory limit for CUDA in KiB and the file of measured nodes: `LIMIT,FILE`."
    ),
    "session.save_external_prepacked_constant_initializers": _switch("Save packed weights in a file."),
    "session.strict_workspace_verification": _switch("Check the memory that kernels use for work."),
    "session.use_external_initializer_file_buffers_directly": _switch("Use external weights in place."),
    **_EXPERT_ENTRIES,
}

KNOWN_SESSION_ENTRIES: Mapping[str, KnownKey] = with_versions(_SESSION_ENTRIES.items())
"""The config entries of a session, besides entries with an option of their own."""

KNOWN_RUN_ENTRIES: Mapping[str, KnownKey] = {
    "qnn.lora_config": KnownKey(doc="The LoRA adapters for Qualcomm's HTP."),
}
"""The config entries of a run, besides entries with an option of their own."""
