"""`OnnxRuntimeOptions`: all options of a session. This module does not import ONNX Runtime."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from etconfig.plugin.v1 import BackendOptions, Ge, Le, model_validator, option
from etconfig_onnxruntime.known_entries import KNOWN_RUN_ENTRIES, KNOWN_SESSION_ENTRIES
from etconfig_onnxruntime.provider_tables import provider_names
from etconfig_onnxruntime.session_attributes import LOG_NUMBERS, LogLevel, SessionAttributes
from etconfig_onnxruntime.session_entries import INT32_MAX, SESSION_ENTRIES, SessionEntries

HtpMode = Literal[
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
"""The performance modes of Qualcomm's HTP."""

RUN_ENTRIES: Mapping[str, str] = {
    "arena_shrinkage": "memory.enable_memory_arena_shrinkage",
    "disable_synchronize_execution_providers": "disable_synchronize_execution_providers",
    "gpu_graph_id": "gpu_graph_id",
    "qnn_htp_perf_mode": "qnn.htp_perf_mode",
    "qnn_htp_perf_mode_post_run": "qnn.htp_perf_mode_post_run",
    "qnn_rpc_control_latency_us": "qnn.rpc_control_latency",
}
"""The key of each option that is a config entry of a run."""

DYNAMIC_ENTRIES: Mapping[str, str] = {
    "workload_type": "ep.dynamic.workload_type",
    "qnn_htp_session_mode": "ep.dynamic.qnn_htp_performance_mode",
}
"""The key of each option that a loaded session can change, for all providers."""

_SESSION_OPTIONS = {key: name for name, key in SESSION_ENTRIES.items()}
_RUN_OPTIONS = {key: name for name, key in {**RUN_ENTRIES, **DYNAMIC_ENTRIES}.items()}
_ATTRIBUTES = SessionAttributes.__annotations__
_NAMES = {name: name for name in (*_ATTRIBUTES, *SESSION_ENTRIES, *RUN_ENTRIES, *DYNAMIC_ENTRIES)}
"""The names of options, for users who write them as keys."""

_OTHER_SESSION_KEYS = {
    **_NAMES,
    **{f"session.{name}": name for name in _ATTRIBUTES},
    "session.log_id": "logid",
    **_SESSION_OPTIONS,
    **_RUN_OPTIONS,
    **dict.fromkeys(KNOWN_RUN_ENTRIES, "run_config_entries"),
}
_OTHER_RUN_KEYS = {
    **_NAMES,
    **_RUN_OPTIONS,
    **_SESSION_OPTIONS,
    **dict.fromkeys(KNOWN_SESSION_ENTRIES, "config_entries"),
}

_AFFINITY = re.compile(r"[1-9][0-9]*(-[1-9][0-9]*)?(,[1-9][0-9]*(-[1-9][0-9]*)?)*")
_DEVICES = re.compile(r"(cpu|gpu):[0-9]+(;(cpu|gpu):[0-9]+)*")


class OnnxRuntimeOptions(SessionEntries, SessionAttributes, BackendOptions):
    """Options of `OnnxRuntimeBackend`."""

    workload_type: Literal["Default", "Efficient"] = option(
        "Default",
        applies="execute",
        doc="Have the providers save power (`Efficient`). The CPU provider ignores it. "
        "Since ONNX Runtime 1.24.",
    )
    qnn_htp_session_mode: HtpMode = option(
        "default",
        applies="execute",
        doc="The performance mode of Qualcomm's HTP from now on. Other providers ignore it. "
        "Since ONNX Runtime 1.24.",
    )
    run_log_severity_level: LogLevel = option(
        "default", applies="execute", also_called=LOG_NUMBERS, doc="The lowest severity that a run logs."
    )
    run_log_verbosity_level: Annotated[int, Ge(0), Le(INT32_MAX)] = option(
        0,
        applies="execute",
        doc="The verbosity of a run's log if its severity is `verbose`, in debug builds.",
    )
    run_logid: str = option("", applies="execute", doc="The name of a run in the log.")
    only_execute_path_to_fetches: bool = option(
        False, applies="execute", doc="Leave out the nodes that the asked outputs do not need."
    )
    arena_shrinkage: str | None = option(
        None,
        applies="execute",
        doc="The devices that give unused memory back after each run: `cpu:0`, or several joined by `;`.",
    )
    disable_synchronize_execution_providers: bool = option(
        False, applies="execute", doc="Do not wait for the providers at the end of a run; the caller does."
    )
    gpu_graph_id: Annotated[int, Ge(-1), Le(INT32_MAX)] | None = option(
        None, applies="execute", doc="The recorded graph to run on the GPU; -1 to record none."
    )
    qnn_htp_perf_mode: HtpMode | None = option(
        None, applies="execute", doc="The performance mode of Qualcomm's HTP during a run."
    )
    qnn_htp_perf_mode_post_run: HtpMode | None = option(
        None, applies="execute", doc="The performance mode of Qualcomm's HTP after a run."
    )
    qnn_rpc_control_latency_us: Annotated[int, Ge(0), Le(INT32_MAX)] | None = option(
        None, applies="execute", unit="us", doc="The latency of the calls to Qualcomm's HTP."
    )

    config_entries: dict[str, str] = option(
        {},
        applies="load",
        invalidates_cache=True,
        doc="Config entries of the session that have no option of their own.",
        known_keys=KNOWN_SESSION_ENTRIES,
        keys_of_options=_OTHER_SESSION_KEYS,
        newer_keys="newer_config_entries",
    )
    run_config_entries: dict[str, str] = option(
        {},
        applies="execute",
        doc="Config entries of a run that have no option of their own.",
        known_keys=KNOWN_RUN_ENTRIES,
        keys_of_options=_OTHER_RUN_KEYS,
        newer_keys="newer_run_config_entries",
    )
    newer_config_entries: dict[str, str] = option(
        {},
        applies="load",
        invalidates_cache=True,
        doc="Config entries of a session that this plugin does not know, for an ONNX Runtime that is newer. "
        "Nobody checks them: ONNX Runtime ignores a misspelt one.",
    )
    newer_run_config_entries: dict[str, str] = option(
        {}, applies="execute", doc="The same for config entries of a run."
    )

    @model_validator(mode="after")
    def _check_newer(self) -> "OnnxRuntimeOptions":
        """Refuse keys that are known: they are checked where they belong."""
        for name, own, other in (
            ("config_entries", KNOWN_SESSION_ENTRIES, _OTHER_SESSION_KEYS),
            ("run_config_entries", KNOWN_RUN_ENTRIES, _OTHER_RUN_KEYS),
        ):
            for key in getattr(self, f"newer_{name}"):
                place = name if key in own else other.get(key)
                if place is not None:
                    raise ValueError(f"newer_{name} has the known key {key!r}; set it in {place}")
        return self

    @model_validator(mode="after")
    def _check_inter_op(self) -> "OnnxRuntimeOptions":
        if self.inter_op_num_threads > 1 and self.execution_mode == "sequential":
            raise ValueError('inter_op_num_threads above 1 needs execution_mode = "parallel"')
        if self.inter_op_num_threads == 1 and self.execution_mode == "parallel":
            raise ValueError(
                'execution_mode "parallel" needs inter_op_num_threads above 1, or 0 for one per core; '
                "with 1, ONNX Runtime runs operators one after another"
            )
        return self

    @model_validator(mode="after")
    def _check_affinities(self) -> "OnnxRuntimeOptions":
        if self.intra_op_thread_affinities is None:
            return self
        threads = self.intra_op_thread_affinities.split(";")
        wrong = [each for each in threads if not _AFFINITY.fullmatch(each)]
        if wrong:
            raise ValueError(
                f"intra_op_thread_affinities has {wrong[0]!r} for a thread; expected processors from 1 on, "
                "such as '1,2' or '1-4'"
            )
        for interval in self.intra_op_thread_affinities.replace(";", ",").split(","):
            first, _, last = interval.partition("-")
            if last and int(last) < int(first):
                raise ValueError(
                    f"intra_op_thread_affinities has the interval {interval!r}, which ends before it begins; "
                    f"write '{last}-{first}'"
                )
        if len(threads) != self.intra_op_num_threads - 1:
            raise ValueError(
                f"intra_op_thread_affinities is for {len(threads)} thread(s), so intra_op_num_threads must "
                f"be {len(threads) + 1} (the calling thread is not bound), not {self.intra_op_num_threads}"
            )
        return self

    @model_validator(mode="after")
    def _check_providers(self) -> "OnnxRuntimeOptions":
        names = provider_names(self.providers)
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(f"providers names {min(repeated)!r} twice")
        if self.provider_selection_policy is None and not self.providers:
            raise ValueError("providers is empty; name one, or set provider_selection_policy")
        if self.provider_selection_policy is not None and self.providers:
            raise ValueError("providers must be [] when provider_selection_policy is set")
        if "cpu" in names[:-1]:
            later = ", ".join(map(repr, names[names.index("cpu") + 1 :]))
            raise ValueError(
                f"providers names {later} after 'cpu', which takes all nodes that are left; put 'cpu' last"
            )
        if self.disable_cpu_ep_fallback and "cpu" in names:
            raise ValueError("disable_cpu_ep_fallback contradicts the provider 'cpu'; leave one of them out")
        return self

    @model_validator(mode="after")
    def _check_effect(self) -> "OnnxRuntimeOptions":
        """Refuse options that another one leaves without any effect."""
        if not self.enable_profiling and self.profile_file_prefix != "onnxruntime_profile_":
            raise ValueError("profile_file_prefix needs enable_profiling")
        if self.save_model_format is not None and not self.optimized_model_filepath:
            raise ValueError("save_model_format needs optimized_model_filepath")
        if not self.ep_context_enable and (
            self.ep_context_file_path is not None or self.ep_context_embed_mode
        ):
            name = "ep_context_embed_mode" if self.ep_context_embed_mode else "ep_context_file_path"
            raise ValueError(f"{name} needs ep_context_enable")
        if not self.enable_cpu_mem_arena and "cpu" in (self.arena_shrinkage or ""):
            raise ValueError("arena_shrinkage has no effect on 'cpu' while enable_cpu_mem_arena is false")
        return self

    @model_validator(mode="after")
    def _check_values(self) -> "OnnxRuntimeOptions":
        if self.arena_shrinkage is not None and not _DEVICES.fullmatch(self.arena_shrinkage):
            raise ValueError(
                f"arena_shrinkage is {self.arena_shrinkage!r}; expected devices such as 'cpu:0;gpu:0'"
            )
        size = self.qdq_matmulnbits_block_size
        if size > 0 and (size < 16 or size & (size - 1)):
            raise ValueError(
                f"qdq_matmulnbits_block_size must be a power of two from 16 on, 0 or -1, not {size}"
            )
        if self.use_ort_model_bytes_for_initializers and not self.use_ort_model_bytes_directly:
            raise ValueError("use_ort_model_bytes_for_initializers needs use_ort_model_bytes_directly")
        return self
