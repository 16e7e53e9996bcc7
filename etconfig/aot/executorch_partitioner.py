"""The classes behind `etconfig.aot`'s partitioners; importing it imports torch and executorch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from etconfig.aot.operators import Preprocess, Supported, operator_name
from etconfig.diagnostics import nearest

_PREPROCESS = "etconfig_preprocess"
"""The attribute of a class of `BackendDetails` with the function behind it."""


class GraphPartitioner(Partitioner):
    """Delegates everything, or the largest groups of nodes that `supported` accepts.

    Args:
        backend_id: The backend.
        preprocess: Writes the payload of one delegate.
        compile_specs: Values that are stored in the program, by key.
        supported: Decides on a node that calls an operator; None delegates all as one.
        keep_whole: Decides which operators are not decomposed.
    """

    def __init__(
        self,
        backend_id: str,
        preprocess: Preprocess,
        compile_specs: Mapping[str, bytes],
        supported: Callable[[Node], bool] | None,
        keep_whole: Callable[[Node], bool],
    ) -> None:
        super().__init__()
        _check_compile_specs(compile_specs)
        self._backend_id = backend_id
        self._details = _details_class(backend_id, preprocess)  # ExecuTorch finds it as long as it is alive
        self._compile_specs = dict(compile_specs)
        self._supported = supported
        self._keep_whole = keep_whole

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Keep operators whole where they will be delegated."""
        kept = {node.target for node in ep.graph.nodes if self._is_kept(node)}
        operators = sorted(kept, key=str)
        # without a filter, ExecuTorch keeps all of these, even where only a filter tells them apart
        return operators, None if self._supported is None else self._is_kept

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag the nodes of each delegate; the graph itself does not change."""
        if self._supported is None:
            tags = _tag_everything(exported_program, self._backend_id, self._compile_specs)
        else:
            tags = tag_groups(exported_program, self._backend_id, self._supported, self._compile_specs)
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)

    def _is_kept(self, node: Node) -> bool:
        is_operator = node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload)
        if not is_operator or not self._keep_whole(node):
            return False
        return self._supported is None or self._supported(node)


class OperatorNames:
    """A predicate on nodes: the operator has one of these names.

    Args:
        names: Such as `aten::add.Tensor`; `aten.add.Tensor` and `aten::relu.default` are understood.

    Raises:
        ValueError: torch has no such operator.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(map(_checked_name, names))

    def __call__(self, node: Node) -> bool:
        return operator_name(node) in self._names

    @classmethod
    def predicate(cls, supported: Supported) -> Callable[[Node], bool]:
        """Return the predicate that names or a function stand for."""
        if isinstance(supported, str):
            raise ValueError(
                f"expected several names of operators, given the text {supported!r}; put it in a list"
            )
        return supported if callable(supported) else cls(supported)


def tag_groups(
    exported_program: ExportedProgram,
    backend_id: str,
    is_supported: Callable[[Node], bool],
    compile_specs: Mapping[str, bytes],
) -> dict[str, DelegationSpec]:
    """Tag the largest groups of supported nodes; see `etconfig.aot.tag_supported`."""
    groups = CapabilityBasedPartitioner(
        exported_program.graph_module, _Support(is_supported), allows_single_node_partition=True
    ).propose_partitions()
    tags = {}
    for index, group in enumerate(groups):
        tag = f"{backend_id}_{index}"
        tags[tag] = _delegation(backend_id, compile_specs)
        for node in group.nodes:
            node.meta["delegation_tag"] = tag
    return tags


def _tag_everything(
    exported_program: ExportedProgram, backend_id: str, compile_specs: Mapping[str, bytes]
) -> dict[str, DelegationSpec]:
    nodes = [node for node in exported_program.graph.nodes if node.op in ("call_function", "get_attr")]
    if not any(node.op == "call_function" for node in nodes):
        return {}
    for node in nodes:
        node.meta["delegation_tag"] = backend_id
    return {backend_id: _delegation(backend_id, compile_specs)}


def _delegation(backend_id: str, compile_specs: Mapping[str, bytes]) -> DelegationSpec:
    return DelegationSpec(backend_id, [CompileSpec(key, value) for key, value in compile_specs.items()])


class _Support(OperatorSupportBase):
    def __init__(self, is_supported: Callable[[Node], bool]) -> None:
        self._is_supported = is_supported

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        if node.op != "call_function":
            return False
        if node.target is operator.getitem:
            return self.is_node_supported(submodules, node.args[0])
        return self._is_supported(node)


def _check_compile_specs(compile_specs: Mapping[str, bytes]) -> None:
    """Raise TypeError for a value that ExecuTorch would refuse later, without its name."""
    for key, value in compile_specs.items():
        if not isinstance(value, bytes):
            raise TypeError(
                f"compile spec {key!r}: expected bytes, given {type(value).__name__}; encode it first, for "
                "example with encode_compile_specs of etconfig.aot"
            )


def _checked_name(name: str) -> str:
    """Return the name as `operator_name` writes it. Raises ValueError if torch has no such operator."""
    namespace, _, rest = name.replace("::", ".").partition(".")
    base, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base, None) if base else None
    if packet is None:
        hint = _likely_operator(base if namespace == "aten" else namespace if not base else "")
        raise ValueError(f"torch has no operator {name!r}; {hint or 'import what registers it first'}")
    overloads = _overloads(packet)
    if (overload or "default") not in overloads:
        choices = ", ".join(f"{namespace}::{base}.{each}" for each in overloads)
        raise ValueError(f"torch has no operator {name!r}; there is {choices}".replace(".default", ""))
    return f"{namespace}::{base}" + (f".{overload}" if overload not in ("", "default") else "")


def _likely_operator(base: str) -> str | None:
    """Return a question with the full name of the operator of torch that was probably meant, or None."""
    if not base:
        return None
    known = [each for each in dir(torch.ops.aten) if not each.startswith("_")]
    meant = base if base in known else nearest(base, known)
    overloads = _overloads(getattr(torch.ops.aten, meant)) if meant is not None else []
    if not overloads:
        return None
    overload = "" if "default" in overloads else f".{overloads[0]}"
    return f"did you mean 'aten::{meant}{overload}'?"


def _overloads(packet: Any) -> list[str]:
    """Return the overloads on tensors; others, such as aten::add of two numbers, are in no program."""
    return [each for each in packet.overloads() if "Tensor" in str(getattr(packet, each)._schema)]


def _details_class(backend_id: str, preprocess: Preprocess) -> type[Any]:
    """Return the class through which ExecuTorch finds a backend, made on first use.

    ExecuTorch looks for a subclass of `BackendDetails` whose name is the backend's id.

    Raises:
        ValueError: there is one with another function.
    """
    known: type[Any]
    for known in BackendDetails.__subclasses__():
        if known.__name__ == backend_id:
            if getattr(known, _PREPROCESS, None) == preprocess:
                return known
            raise ValueError(
                f"payloads of {backend_id} are already written by {_owner(known)}, and ExecuTorch finds one "
                "by that id; use one function for each id, and pass what differs as compile specs"
            )

    def write(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        result = preprocess(edge_program, {spec.key: spec.value for spec in compile_specs})
        if isinstance(result, PreprocessResult):
            return result
        if isinstance(result, bytes):
            return PreprocessResult(processed_bytes=result)
        raise TypeError(
            f"{_name(preprocess)} returned {type(result).__name__} as a payload of {backend_id}; expected "
            "bytes or a PreprocessResult"
        )

    return type(backend_id, (BackendDetails,), {"preprocess": staticmethod(write), _PREPROCESS: preprocess})


def _owner(details: type[Any]) -> str:
    function = vars(details).get(_PREPROCESS)
    return f"{details.__module__}.{details.__name__}" if function is None else _name(function)


def _name(function: Any) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', function)}"
