"""The options that are attributes of ONNX Runtime's `SessionOptions`, with its names and defaults."""

from typing import Annotated, Literal

from etconfig.plugin.v1 import Consumes, Ge, Le, option
from etconfig_onnxruntime.provider_tables import Provider

MAX_THREADS = 1024
"""More threads than any pool is useful with; ONNX Runtime itself checks neither this nor the sign."""

_POOLED = {"use_per_session_threads": False}
"""Sessions share the pools of the process."""

LogLevel = Literal["default", "verbose", "info", "warning", "error", "fatal"]
"""The severities of ONNX Runtime's log, -1 to 4; `default` is the process's severity."""

LOG_NUMBERS: dict[str | int, str | int] = {
    **dict(enumerate(("verbose", "info", "warning", "error", "fatal"))),
    -1: "default",
}
"""ONNX Runtime's own numbers of severities."""

_OPTIMIZATIONS: dict[str | int, str | int] = {
    **dict.fromkeys(("ORT_DISABLE_ALL", 0), "none"),
    **dict.fromkeys(("ORT_ENABLE_BASIC", 1), "basic"),
    **dict.fromkeys(("ORT_ENABLE_EXTENDED", 2), "extended"),
    **dict.fromkeys(("ORT_ENABLE_LAYOUT", 3), "layout"),
    **dict.fromkeys(("ORT_ENABLE_ALL", 99), "all"),
}


class SessionAttributes:
    """The attributes of a session: threads, graph optimization, memory, logging, providers.

    A mixin, not a `BackendOptions`: each class of those reads all of its fields again, which takes time.
    """

    providers: tuple[Provider, ...] = option(
        ({"provider": "cpu"},),
        applies="load",
        invalidates_cache=True,
        doc="The execution providers, the preferred one first. All of them must be there. Nodes run on the "
        "CPU only if `cpu` is in the list.",
    )
    absent_providers: Literal["error", "skip"] = option(
        "error",
        applies="load",
        invalidates_cache=True,
        doc="What to do about a provider that this machine does not have: refuse to build the session, or "
        "leave the provider out with a warning (ProviderFallbackWarning).",
    )
    provider_selection_policy: (
        Literal[
            "default",
            "prefer_cpu",
            "prefer_npu",
            "prefer_gpu",
            "max_performance",
            "max_efficiency",
            "min_overall_power",
        ]
        | None
    ) = option(
        None,
        applies="load",
        invalidates_cache=True,
        doc="Let ONNX Runtime choose providers and devices by this policy. `providers` must then be empty.",
    )
    intra_op_num_threads: Annotated[int, Ge(0), Le(MAX_THREADS)] = option(
        0,
        applies="load",
        unit="threads",
        tune=True,
        consumes=Consumes("threads", counts={0: "cpu.physical_cores"}, shared_if=_POOLED),
        env="ORT_INTRA_OP_NUM_THREADS",
        doc="The threads that share the work of one operator, the calling one included. With 0, ONNX Runtime "
        "takes one per physical core, whatever limit its container has.",
    )
    inter_op_num_threads: Annotated[int, Ge(0), Le(MAX_THREADS)] = option(
        0,
        applies="load",
        unit="threads",
        consumes=Consumes(
            "threads",
            counts={0: "cpu.physical_cores"},
            only_if={"execution_mode": "parallel"},
            shared_if=_POOLED,
        ),
        env="ORT_INTER_OP_NUM_THREADS",
        doc="The threads that run independent operators; only with execution_mode `parallel`. With 0, one "
        "per physical core.",
    )
    use_per_session_threads: bool = option(
        True,
        applies="load",
        scope="process",
        doc="Give each session threads of its own. False moves them to pools of the process, of the sizes "
        "intra_op_num_threads and inter_op_num_threads. All sessions must then use the pools and name the "
        "same sizes, since ONNX Runtime creates them once.",
    )
    graph_optimization_level: Literal["none", "basic", "extended", "layout", "all"] = option(
        "all",
        applies="load",
        invalidates_cache=True,
        also_called=_OPTIMIZATIONS,
        tune=("extended", "layout", "all"),
        doc="The optimizations of the graph; each level includes those before it.",
    )
    execution_mode: Literal["sequential", "parallel"] = option(
        "sequential",
        applies="load",
        also_called={
            "ORT_SEQUENTIAL": "sequential",
            0: "sequential",
            "ORT_PARALLEL": "parallel",
            1: "parallel",
        },
        doc="Run operators one after another, or independent ones at the same time.",
    )
    execution_order: Literal["default", "priority_based", "memory_efficient"] = option(
        "default",
        applies="load",
        also_called={0: "default", 1: "priority_based", 2: "memory_efficient"},
        doc="The order in which operators run; `memory_efficient` needs a build for training.",
    )
    enable_cpu_mem_arena: bool = option(
        True,
        applies="load",
        tune=True,
        doc="Keep freed memory of the CPU for later runs.",
    )
    enable_mem_pattern: bool = option(
        True,
        applies="load",
        tune=True,
        doc="Plan the memory of a run ahead if the shapes of its inputs were seen before.",
    )
    enable_mem_reuse: bool = option(
        True,
        applies="load",
        doc="Let values whose lifetimes do not overlap share memory.",
    )
    use_deterministic_compute: bool = option(
        False,
        applies="load",
        doc="Compute the same bits in every run, where a provider has both kinds of kernels.",
    )
    optimized_model_filepath: str = option(
        "",
        applies="load",
        doc="The file to write the optimized model to; empty for none.",
    )
    enable_profiling: bool = option(
        False,
        applies="load",
        doc="Record a profile, which `session.end_profiling()` writes.",
    )
    profile_file_prefix: str = option(
        "onnxruntime_profile_",
        applies="load",
        doc="The beginning of the profile's file name; the time follows.",
    )
    logid: str = option("", applies="load", doc="The name of the session in the log.")
    log_severity_level: LogLevel = option(
        "default",
        applies="load",
        also_called=LOG_NUMBERS,
        doc="The lowest severity that the session logs.",
    )
    log_verbosity_level: Annotated[int, Ge(0), Le(2**31 - 1)] = option(
        0,
        applies="load",
        doc="The verbosity of the log if log_severity_level is `verbose`, in debug builds.",
    )
    free_dimension_overrides: dict[str, Annotated[int, Ge(1)]] = option(
        {},
        applies="load",
        invalidates_cache=True,
        doc="The sizes of dimensions that the model leaves open, by their names in the model. Fixed sizes "
        "let more be optimized.",
    )
    free_dimension_overrides_by_denotation: dict[str, Annotated[int, Ge(1)]] = option(
        {},
        applies="load",
        invalidates_cache=True,
        doc="The same, by the denotations of dimensions, such as DATA_BATCH.",
    )
    required_metadata: dict[str, str] = option(
        {},
        applies="load",
        doc="Entries that the custom metadata of the model must have, such as its version. A model without "
        "them is refused.",
    )
