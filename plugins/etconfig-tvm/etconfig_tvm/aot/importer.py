"""`import_program`: from an exported program of PyTorch to Relax, TVM's intermediate language."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from etconfig_tvm.errors import CompileError

_COPY = "_copy"
"""The ending of operators that copy where PyTorch's return a view: `view_copy.default`."""

_DIM_ORDER_COPY = ("_to_dim_order_copy.default", "_clone_dim_order.default")


def import_program(program: Any) -> Any:
    """Return the Relax module of an exported program, whose parameters are constants of it.

    Args:
        program: A `torch.export.ExportedProgram`, with operators of PyTorch or of ExecuTorch's edge dialect.

    Raises:
        CompileError: it is something else, TVM does not support an operator, or a buffer changes.
    """
    _check_type(program)
    from tvm.relax.frontend.torch import from_exported_program

    if not _is_edge(program):
        program = program.run_decompositions()  # only then, changes of buffers are in the signature
    changed = sorted(program.graph_signature.buffers_to_mutate.values())
    if changed:
        raise CompileError(
            problem=f"the model changes its buffer {changed[0]!r} when it runs",
            help="pass the state in and out as inputs and outputs",
        )
    _describe_inputs(program)
    names = {node.target.__name__ for node in program.graph.nodes if node.op == "call_function"}
    try:
        return from_exported_program(program, custom_convert_map=_copies(names), run_ep_decomposition=False)
    except (AssertionError, NotImplementedError, KeyError) as error:
        raise CompileError(
            problem=f"TVM cannot import the model: {str(error).strip() or type(error).__name__}",
            help="leave those operators to another backend with the partitioner by operators",
        ) from error


def _check_type(program: Any) -> None:
    from torch.export import ExportedProgram

    if isinstance(program, ExportedProgram):
        return
    is_path = isinstance(program, (str, os.PathLike))
    raise CompileError(
        problem=f"compile_model takes an exported program, and was given a {type(program).__name__}",
        help="give torch.export.load(path)" if is_path else "give torch.export.export(model, inputs)",
    )


def operator_name(name: str) -> str:
    """Return the name of an operator without its namespace, such as `view_copy.default`."""
    for namespace in ("aten.", "aten::", "dim_order_ops.", "dim_order_ops::"):
        name = name.removeprefix(namespace)
    return name


def is_supported_operator(name: str) -> bool:
    """Return True if TVM imports an operator of an edge program, such as `aten.view_copy.default`."""
    known, plain = _importer_class()().convert_map, operator_name(name)
    return plain in _DIM_ORDER_COPY or plain in known or _without_copy(plain) in known


def _describe_inputs(program: Any) -> None:
    """Fill in the sizes of inputs where TVM looks for them: edge programs have them elsewhere."""
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.meta.get("tensor_meta") is None and "val" in node.meta:
            node.meta["tensor_meta"] = node.meta["val"]


def _copies(names: set[str]) -> dict[str, Callable[[Any, Any], Any]]:
    """Return converters for the names that TVM knows without their namespace or the ending."""
    known = _importer_class()().convert_map
    plain = {name: operator_name(name) for name in names if name not in known}
    return {
        name: _converter(base)
        for name, base in plain.items()
        if base in _DIM_ORDER_COPY or _without_copy(base) in known
    }


def _converter(name: str) -> Callable[[Any, Any], Any]:
    def convert(node: Any, importer: Any) -> Any:
        if name in _DIM_ORDER_COPY:
            return _convert_dim_order(node, importer)
        return importer.convert_map[_without_copy(name)](node)

    return convert


def _convert_dim_order(node: Any, importer: Any) -> Any:
    from tvm import relax

    value = importer.env[node.args[0]]
    dtype = node.kwargs.get("dtype")
    if dtype is None:
        return value
    return importer.block_builder.emit(relax.op.astype(value, importer._convert_data_type(dtype)))


def _without_copy(name: str) -> str:
    operator, _, overload = name.partition(".")
    return f"{operator.removesuffix(_COPY)}.{overload}"


def _is_edge(program: Any) -> bool:
    return any("EdgeOpOverload" in type(node.target).__name__ for node in program.graph.nodes)


def _importer_class() -> Any:
    from tvm.relax.frontend.torch import exported_program_translator

    classes = inspect.getmembers(exported_program_translator, inspect.isclass)
    return dict(classes)["ExportedProgramImporter"]
