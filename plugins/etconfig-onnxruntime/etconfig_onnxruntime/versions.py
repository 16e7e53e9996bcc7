"""The versions of ONNX Runtime that introduced config entries: older ones ignore them without an error.

A version is the first whose library for x86-64 or aarch64, as published on PyPI, contains the key. Keys that
only other builds contain, such as keys for Qualcomm's processors, are not listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from etconfig.plugin.v1 import KnownKey
from etconfig_onnxruntime.engine import version_numbers
from etconfig_onnxruntime.errors import unavailable

_LOADER = "session.external_data_loader."
_EXPERTS = "session.moe.offload."

INTRODUCED: Mapping[str, tuple[str, ...]] = {
    "1.24": (
        "ep.dynamic.qnn_htp_performance_mode",  # Python has set_ep_dynamic_options since then
        "ep.dynamic.workload_type",
        "mlas.use_lut_gemm",
        "session.record_ep_graph_assignment_info",
    ),
    "1.24.3": ("session.enable_dq_matmulnbits_fusion",),
    "1.25": (
        "mlas.disable_kleidiai",
        "session.layer_assignment_settings",
        "session.qdq_matmulnbits_block_size",
    ),
    "1.26": (
        "session.disable_qdq_constant_folding",
        "session.inter_op.spin_backoff_max",
        "session.inter_op.spin_duration_us",
        "session.intra_op.spin_backoff_max",
        "session.intra_op.spin_duration_us",
    ),
    "1.27": ("optimization.constant_folding_max_output_size_in_bytes", "session.compile_only"),
    "1.28": ("mlas.kleidiai.conv_igemm_max_work", "session.name_based_layer_assignment"),
    "1.29": ("ep.enable_weightless", "session.max_shape_override"),
    "1.30": (
        "mlas.nchwc_pointwise_conv_max_input_channel_batch",
        "session.enable_saved_runtime_optimizations",
        "session.gqa_value_layout",
    ),
    "1.31": (
        "ep.cuda.fpa_intb_gemm",
        "ep.cuda.fpa_intb_profile_m",
        "ep.cuda.gqa_workspace_max_total_sequence_length",
        "mlas.nchwc_depthwise_sliding",
        "session.enable_moe_expert_counting",
        "session.enable_moe_expert_statistics",
        "session.moe_expert_counter_alpha",
        "session.moe_expert_counter_beta",
        "session.moe_expert_counter_state_file",
        "mlas.qnbit.force_fp32",
        "session.function_expansion_byte_limit",
        "session.function_expansion_node_limit",
        "session.prepack.enable_parallel",
        "session.strict_workspace_verification",
        "session.use_external_initializer_file_buffers_directly",
    ),
    "1.32": (
        "ep.context_source_model_path",
        "ep.cpu.qmoe_deferred_scale",
        "ep.cuda.fpa_intb_dequant_gemm_min_m",
        "ep.cuda.matmul_nbits_m_chunk_size",
        "ep.cuda.moe_packed_gpu_experts",
        "ep.cuda.runtime_fusion.causal_conv_with_state",
        "ep.cuda.runtime_fusion.unit_swish",
        "ep.enable_weightless_ep_context_nodes",
        "ep.enable_weightless_mode",
        "session.kernel_dispatch_policy",
    ),
}
"""The keys that each version introduced, apart from the groups below and the entries that 1.23 has."""

_GROUPS: Mapping[str, str] = {_LOADER: "1.32", _EXPERTS: "1.32"}
"""The version that introduced all keys with a beginning."""

_SINCE = {key: version for version, keys in INTRODUCED.items() for key in keys}


def since(key: str) -> str | None:
    """Return the version that introduced a config entry; None if every supported one has it."""
    return _SINCE.get(key) or next((v for start, v in _GROUPS.items() if key.startswith(start)), None)


def is_known(engine_version: str, key: str) -> bool:
    """Return True if this version of ONNX Runtime reads a config entry."""
    introduced, installed = since(key), version_numbers(engine_version)
    return introduced is None or installed is None or installed >= (version_numbers(introduced) or ())


def check_versions(engine_version: str, keys: Mapping[str, str]) -> None:
    """Check that ONNX Runtime reads all config entries of a session.

    Args:
        engine_version: The version of ONNX Runtime.
        keys: The place in the options that sets each config entry.

    Raises:
        BackendUnavailableError: it ignores some; each is named with the version that introduced it.
    """
    ignored = [key for key in keys if not is_known(engine_version, key)]
    if not ignored:
        return
    listed = ", ".join(f"{keys[key]} (since {since(key)})" for key in ignored)
    newest = max((since(key) or "" for key in ignored), key=lambda text: version_numbers(text) or ())
    raise unavailable(
        f"ONNX Runtime {engine_version} is installed, which ignores {listed}",
        f"install ONNX Runtime {newest} or newer, or leave {'it' if len(ignored) == 1 else 'them'} out",
    )


def with_versions(entries: Iterable[tuple[str, KnownKey]]) -> dict[str, KnownKey]:
    """Return config entries whose docs end with the version that introduced them."""
    found = {}
    for key, known in entries:
        version = since(key)
        found[key] = known if version is None else replace(known, doc=f"{known.doc} {since_text(version)}")
    return found


def since_text(version: str) -> str:
    """Return the sentence for the doc of what a version introduced."""
    return f"Since ONNX Runtime {version}."
