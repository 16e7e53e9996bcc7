"""The options that are config entries of a session: strings under keys, which ONNX Runtime does not check."""

from collections.abc import Mapping
from typing import Annotated, Literal

from etconfig.plugin.v1 import Ge, Le, option
from etconfig_onnxruntime.optimizers import Optimizer

INT32_MAX = 2**31 - 1

SESSION_ENTRIES: Mapping[str, str] = {
    "intra_op_allow_spinning": "session.intra_op.allow_spinning",
    "inter_op_allow_spinning": "session.inter_op.allow_spinning",
    "intra_op_spin_duration_us": "session.intra_op.spin_duration_us",
    "inter_op_spin_duration_us": "session.inter_op.spin_duration_us",
    "intra_op_spin_backoff_max": "session.intra_op.spin_backoff_max",
    "inter_op_spin_backoff_max": "session.inter_op.spin_backoff_max",
    "force_spinning_stop": "session.force_spinning_stop",
    "intra_op_thread_affinities": "session.intra_op_thread_affinities",
    "set_denormal_as_zero": "session.set_denormal_as_zero",
    "disable_prepacking": "session.disable_prepacking",
    "use_env_allocators": "session.use_env_allocators",
    "use_device_allocator_for_initializers": "session.use_device_allocator_for_initializers",
    "load_model_format": "session.load_model_format",
    "save_model_format": "session.save_model_format",
    "use_ort_model_bytes_directly": "session.use_ort_model_bytes_directly",
    "use_ort_model_bytes_for_initializers": "session.use_ort_model_bytes_for_initializers",
    "disable_quant_qdq": "session.disable_quant_qdq",
    "disable_qdq_constant_folding": "session.disable_qdq_constant_folding",
    "enable_quant_qdq_cleanup": "session.enable_quant_qdq_cleanup",
    "disable_double_qdq_remover": "session.disable_double_qdq_remover",
    "qdqisint8allowed": "session.qdqisint8allowed",
    "x64quantprecision": "session.x64quantprecision",
    "disable_cpu_ep_fallback": "session.disable_cpu_ep_fallback",
    "strict_shape_type_inference": "session.strict_shape_type_inference",
    "allow_released_opsets_only": "session.allow_released_opsets_only",
    "disable_model_compile": "session.disable_model_compile",
    "fail_on_suboptimal_compiled_model": "session.fail_on_suboptimal_compiled_model",
    "disable_aot_function_inlining": "session.disable_aot_function_inlining",
    "record_ep_graph_assignment_info": "session.record_ep_graph_assignment_info",
    "graph_optimizations_loop_level": "session.graph_optimizations_loop_level",
    "dynamic_block_base": "session.dynamic_block_base",
    "qdq_matmulnbits_accuracy_level": "session.qdq_matmulnbits_accuracy_level",
    "qdq_matmulnbits_block_size": "session.qdq_matmulnbits_block_size",
    "enable_gelu_approximation": "optimization.enable_gelu_approximation",
    "enable_cast_chain_elimination": "optimization.enable_cast_chain_elimination",
    "disable_specified_optimizers": "optimization.disable_specified_optimizers",
    "minimal_build_optimizations": "optimization.minimal_build_optimizations",
    "constant_folding_max_output_bytes": "optimization.constant_folding_max_output_size_in_bytes",
    "disable_kleidiai": "mlas.disable_kleidiai",
    "use_lut_gemm": "mlas.use_lut_gemm",
    "qnbit_force_fp32": "mlas.qnbit.force_fp32",
    "ep_context_enable": "ep.context_enable",
    "ep_context_file_path": "ep.context_file_path",
    "ep_context_embed_mode": "ep.context_embed_mode",
}
"""The key of each of these options."""


class SessionEntries:
    """The config entries of a session: a mixin, as `SessionAttributes` is.

    The default is what ONNX Runtime does without the entry; it is None where that depends on the build of
    ONNX Runtime or on the providers.
    """

    intra_op_allow_spinning: bool | None = option(
        None,
        applies="load",
        tune=True,
        doc="Let idle threads wait in a loop before they sleep: faster, and warmer. By default on, except in "
        "builds for client devices.",
    )
    inter_op_allow_spinning: bool | None = option(
        None, applies="load", doc="The same for the threads that run independent operators."
    )
    intra_op_spin_duration_us: Annotated[int, Ge(0), Le(INT32_MAX)] | None = option(
        None,
        applies="load",
        unit="us",
        doc="The time that an idle thread waits in a loop. By default a number of iterations decides. Of use "
        "are 500 to 2000. Since ONNX Runtime 1.26.",
    )
    inter_op_spin_duration_us: Annotated[int, Ge(0), Le(INT32_MAX)] | None = option(
        None,
        applies="load",
        unit="us",
        doc="The same for the threads that run independent operators. Since ONNX Runtime 1.26.",
    )
    intra_op_spin_backoff_max: Annotated[int, Ge(1), Le(64)] = option(
        1,
        applies="load",
        doc="The most pauses in one iteration of that loop: more of them save power. 1 for no backoff. "
        "Since ONNX Runtime 1.26.",
    )
    inter_op_spin_backoff_max: Annotated[int, Ge(1), Le(64)] = option(
        1,
        applies="load",
        doc="The same for the threads that run independent operators. Since ONNX Runtime 1.26.",
    )
    force_spinning_stop: bool = option(
        False, applies="load", doc="End all waiting in loops as soon as the last concurrent run returns."
    )
    intra_op_thread_affinities: str | None = option(
        None,
        applies="load",
        doc="The logical processors of each thread except the calling one, counted from 1: `1,2;3-4` for two "
        "threads. intra_op_num_threads must be one more than these.",
    )
    set_denormal_as_zero: bool = option(
        False,
        applies="load",
        doc="Treat denormal numbers as 0 in the threads of the session. For the calling thread, the first "
        "session decides.",
    )
    disable_prepacking: bool = option(
        False, applies="load", doc="Keep weights as they are: less memory, slower runs."
    )
    use_env_allocators: bool = option(
        False, applies="load", doc="Share the allocators that are registered for the process."
    )
    use_device_allocator_for_initializers: bool = option(
        False, applies="load", doc="Allocate weights outside of the arena."
    )
    load_model_format: Literal["ONNX", "ORT"] | None = option(
        None,
        applies="load",
        doc="The format of the model, instead of the one that its name or bytes suggest.",
    )
    save_model_format: Literal["ONNX", "ORT"] | None = option(
        None,
        applies="load",
        invalidates_cache=True,
        doc="The format of optimized_model_filepath, instead of the one of its name.",
    )
    use_ort_model_bytes_directly: bool = option(
        False, applies="load", doc="Do not copy the bytes of a model in ORT format; the caller keeps them."
    )
    use_ort_model_bytes_for_initializers: bool = option(
        False,
        applies="load",
        doc="Use weights inside of those bytes, too; needs use_ort_model_bytes_directly.",
    )
    disable_quant_qdq: bool | None = option(
        None,
        applies="load",
        invalidates_cache=True,
        doc="Do not fuse pairs of QuantizeLinear and DequantizeLinear. By default on with DirectML only.",
    )
    disable_qdq_constant_folding: bool = option(
        False,
        applies="load",
        invalidates_cache=True,
        doc="Never fold DequantizeLinear nodes into constants. Since ONNX Runtime 1.26.",
    )
    enable_quant_qdq_cleanup: bool = option(
        False,
        applies="load",
        invalidates_cache=True,
        doc="Remove pairs of QuantizeLinear and DequantizeLinear that are left over. Results change.",
    )
    disable_double_qdq_remover: bool = option(
        False, applies="load", invalidates_cache=True, doc="Keep the middle nodes of two such pairs in a row."
    )
    qdqisint8allowed: bool | None = option(
        None,
        applies="load",
        invalidates_cache=True,
        doc="Allow int8 for a model that is exported for Arm. By default as on this machine.",
    )
    x64quantprecision: bool = option(
        False,
        applies="load",
        invalidates_cache=True,
        doc="Multiply quantized matrices without overflow on x86 processors that lack VNNI: slower.",
    )
    disable_cpu_ep_fallback: bool | None = option(
        None,
        applies="load",
        doc="Refuse models of which the other providers cannot run all nodes. By default on, unless `cpu` is "
        "among the providers.",
    )
    strict_shape_type_inference: bool = option(
        False, applies="load", doc="Refuse models whose shapes or types contradict each other."
    )
    allow_released_opsets_only: bool | None = option(
        None, applies="load", doc="Refuse models of operator sets that are not released yet."
    )
    disable_model_compile: bool = option(
        False, applies="load", doc="Refuse models that a provider would have to compile now."
    )
    fail_on_suboptimal_compiled_model: bool = option(
        False, applies="load", doc="Refuse compiled models that would run faster if compiled again."
    )
    disable_aot_function_inlining: bool = option(
        False,
        applies="load",
        invalidates_cache=True,
        doc="Do not inline the functions of a model before other optimizations.",
    )
    record_ep_graph_assignment_info: bool = option(
        False,
        applies="load",
        doc="Record which provider runs which nodes, for `session.get_provider_graph_assignment_info()`. "
        "Since ONNX Runtime 1.24.",
    )
    graph_optimizations_loop_level: Literal[0, 1, 2] = option(
        1,
        applies="load",
        invalidates_cache=True,
        doc="Repeat graph optimizations: never (0), if those of the highest level changed something (1), or "
        "if those of level 2 or above did (2).",
    )
    dynamic_block_base: Annotated[int, Ge(0), Le(INT32_MAX)] = option(
        0,
        applies="load",
        doc="Split work into blocks that get smaller towards its end: the first are one part in threads "
        "times this number. 4 is usual; 0 for blocks of equal size.",
    )
    qdq_matmulnbits_accuracy_level: Annotated[int, Ge(0), Le(4)] = option(
        4,
        applies="load",
        invalidates_cache=True,
        doc="The accuracy level of the MatMulNBits nodes that replace quantized ones.",
    )
    qdq_matmulnbits_block_size: Annotated[int, Ge(-1), Le(INT32_MAX)] = option(
        0,
        applies="load",
        invalidates_cache=True,
        doc="Their block size: a power of two from 16 on, 0 for 32, -1 for the one with the least padding. "
        "Since ONNX Runtime 1.25.",
    )
    enable_gelu_approximation: bool = option(
        False, applies="load", invalidates_cache=True, doc="Approximate Gelu. Results change."
    )
    enable_cast_chain_elimination: bool = option(
        False, applies="load", invalidates_cache=True, doc="Leave out casts in a row. Results change."
    )
    disable_specified_optimizers: tuple[Optimizer, ...] = option(
        (),
        applies="load",
        invalidates_cache=True,
        doc="The optimizers to leave out, by name, such as ConstantFolding.",
    )
    minimal_build_optimizations: Literal["save", "apply"] | None = option(
        None,
        applies="load",
        invalidates_cache=True,
        doc="Save the optimizations that a minimal build lacks in an ORT model, or apply only those that it "
        "has.",
    )
    constant_folding_max_output_bytes: Annotated[int, Ge(0)] = option(
        "1 GiB",
        applies="load",
        invalidates_cache=True,
        unit="bytes",
        doc="The largest result of a node to fold into a constant; 0 for any. Since ONNX Runtime 1.27.",
    )
    disable_kleidiai: bool = option(
        False, applies="load", doc="Do not use the KleidiAI kernels. Arm only. Since ONNX Runtime 1.25."
    )
    use_lut_gemm: bool = option(
        False,
        applies="load",
        invalidates_cache=True,
        doc="Multiply matrices of few bits by tables, where possible. Since ONNX Runtime 1.24.",
    )
    qnbit_force_fp32: bool = option(
        False, applies="load", doc="Compute matrices of few bits in fp32. Arm only. Since ONNX Runtime 1.31."
    )
    ep_context_enable: bool = option(
        False, applies="load", doc="Write the model as compiled by a provider, to load faster next time."
    )
    ep_context_file_path: str | None = option(
        None, applies="load", doc="The file of that model; by default the model's name with _ctx.onnx."
    )
    ep_context_embed_mode: bool = option(
        False,
        applies="load",
        invalidates_cache=True,
        doc="Put the compiled part into that file, not into one of its own.",
    )
