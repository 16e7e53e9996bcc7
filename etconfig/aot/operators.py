"""The words of partitioners: names of operators, and the functions that a backend passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from executorch.exir.backend.backend_details import PreprocessResult
    from torch.export import ExportedProgram
    from torch.fx import Node

Preprocess: TypeAlias = "Callable[[ExportedProgram, Mapping[str, bytes]], bytes | PreprocessResult]"
"""Writes the payload of one delegate, from its part of the program and the compile specs by key."""

Supported: TypeAlias = "Iterable[str] | Callable[[Node], bool]"
"""Names of operators, such as `aten::add.Tensor` or `aten::relu`, or a function that decides on a node."""


def operator_name(node: Node) -> str | None:
    """Return the name of the operator that a node calls, such as `aten::add.Tensor`, or None for other nodes.

    Programs of torch and of ExecuTorch's edge dialect have the same names; `.default` is left out.
    """
    schema: Any = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None:
        return None
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)
