"""The ahead-of-time half: delegates parts of a model to the reference backends when it is exported.

Needs the dependencies of the extra `aot`, executorch and torch:

    partitioner = ReferencePartitioner({"features": "ReferenceNpuBackend", "head": "ReferenceCpuBackend"})
    edge = to_edge_transform_and_lower(torch.export.export(model, args), partitioner=[partitioner])

One partitioner serves both backends, since a second one would decompose the operators
that the first asked to keep whole. Source: executorch exir/program/_program.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import final

import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch.export import ExportedProgram
from torch.fx import Node

from etconfig.aot import tag_supported
from etconfig_reference.declared import COMPILE_SPECS
from etconfig_reference.graph import DTYPES, Array, Graph, Operation, ValueType
from etconfig_reference.lowering import NotSupportedError, lower_call, value_type
from etconfig_reference.payload import encode_graph
from etconfig_reference.support import check_compile_specs

KEPT_WHOLE = [
    torch.ops.aten.avg_pool2d.default,
    torch.ops.aten.conv2d.default,
    torch.ops.aten.linear.default,
    torch.ops.aten.max_pool2d.default,
]
"""Operators that are not decomposed if a reference backend can run them in one step."""


@final
class ReferenceCpuBackend(BackendDetails):
    """Writes payloads for `ReferenceCpuBackend`; the class name is the backend id."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Write one delegate's payload. Raises CompileSpecError."""
        return _preprocess(edge_program, compile_specs, "ReferenceCpuBackend")


@final
class ReferenceNpuBackend(BackendDetails):
    """Writes payloads for `ReferenceNpuBackend`; the class name is the backend id."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Write one delegate's payload. Raises CompileSpecError."""
        return _preprocess(edge_program, compile_specs, "ReferenceNpuBackend")


BACKEND_IDS = (ReferenceCpuBackend.__name__, ReferenceNpuBackend.__name__)


class ReferencePartitioner(Partitioner):
    """Delegates the submodules that `placement` names, as far as their operators are supported.

    Args:
        placement: Backend ids by module path, such as `{"features": "ReferenceNpuBackend"}`. The
            innermost module that contains a node decides; the empty path is the whole model.
        named_data: Store constants as named data of the program: once for all delegates, which find
            them by their keys when they are loaded.

    Raises:
        ValueError: a backend id is unknown, or, while partitioning, a path matches nothing.
    """

    def __init__(self, placement: Mapping[str, str], *, named_data: bool = False) -> None:
        super().__init__()
        unknown = sorted(set(placement.values()) - set(BACKEND_IDS))
        if unknown:
            raise ValueError(f"unknown backend {unknown[0]!r}; there are {', '.join(BACKEND_IDS)}")
        self._placement = dict(placement)
        self._compile_specs = {"named_data": b"\1"} if named_data else {}

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Keep operators whole only if they will be delegated."""
        return list(KEPT_WHOLE), self._is_delegated

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag the nodes of each backend; the graph itself does not change."""
        self._check_paths(exported_program)
        tags: dict[str, DelegationSpec] = {}
        for backend_id in sorted(set(self._placement.values())):
            runs_here = partial(self._runs_on, backend_id)
            tags |= tag_supported(exported_program, backend_id, runs_here, self._compile_specs)
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)

    def _check_paths(self, exported_program: ExportedProgram) -> None:
        used = {self._placed_path(node) for node in exported_program.graph.nodes}
        for path in self._placement:
            if path not in used:
                raise ValueError(f"no operation of the program lies in module {path!r}")

    def _runs_on(self, backend_id: str, node: Node) -> bool:
        return self._backend_of(node) == backend_id and self._is_delegated(node)

    def _is_delegated(self, node: Node) -> bool:
        backend_id = self._backend_of(node)
        if backend_id is None:
            return False
        try:
            lower_call(node, backend_id)
        except NotSupportedError:
            return False
        return True

    def _backend_of(self, node: Node) -> str | None:
        path = self._placed_path(node)
        return None if path is None else self._placement[path]

    def _placed_path(self, node: Node) -> str | None:
        """Return the innermost module of the placement that contains `node`."""
        stack = node.meta.get("nn_module_stack") or {}
        # nodes inserted by a pass may have no stack: they belong to the whole model only
        paths = ["", *(path for path, _ in stack.values())]
        placed = [path for path in paths if path in self._placement]
        return max(placed, key=len, default=None) if node.op == "call_function" else None


def lower_methods(
    methods: Mapping[str, ExportedProgram], backend_id: str, *, named_data: bool = False
) -> bytes:
    """Return a .pte of exported methods that delegate as much as possible to one backend."""
    partitioner = ReferencePartitioner({"": backend_id}, named_data=named_data)
    edge = to_edge_transform_and_lower(dict(methods), partitioner={name: [partitioner] for name in methods})
    return bytes(edge.to_executorch().buffer)


def _preprocess(
    edge_program: ExportedProgram, compile_specs: list[CompileSpec], backend_id: str
) -> PreprocessResult:
    specs = {spec.key: spec.value for spec in compile_specs}
    check_compile_specs(specs)
    uses_named_data = bool(COMPILE_SPECS["named_data"].decode(specs.get("named_data", b"\0")))
    builder = _GraphBuilder(edge_program, backend_id)
    named_data = NamedDataStore()
    payload = encode_graph(builder.build(), named_data.add_named_data if uses_named_data else None)
    return PreprocessResult(
        processed_bytes=payload,
        debug_handle_map=builder.debug_handles,
        data_store_output=named_data.get_named_data_store_output(),
    )


class _GraphBuilder:
    """Numbers the values of a delegated program and lowers its nodes, in order.

    Attributes:
        debug_handles: The handle of each operation's node in ExecuTorch's tools, by operation index.
    """

    def __init__(self, edge_program: ExportedProgram, backend_id: str) -> None:
        self._program = edge_program
        self._backend_id = backend_id
        self._index: dict[Node, int] = {}
        self._values: list[ValueType] = []
        self.debug_handles: dict[int, tuple[int]] = {}

    def build(self) -> Graph:
        inputs: list[int] = []
        constants: dict[int, Array] = {}
        operations: list[Operation] = []
        outputs: list[int] = []
        for node in self._program.graph.nodes:
            if node.op == "placeholder":
                constant = self._constant(node)
                if constant is None:
                    inputs.append(self._number(node))
                else:
                    constants[self._number(node)] = constant
            elif node.op == "output":
                outputs = [self._index[result] for result in node.args[0]]
            else:
                self.debug_handles[len(operations)] = (node.meta["debug_handle"],)
                operations.append(self._lower(node))
        return Graph(
            values=tuple(self._values),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            constants=constants,
            operations=tuple(operations),
        )

    def _number(self, node: Node) -> int:
        self._values.append(value_type(node))
        return self._index.setdefault(node, len(self._index))

    def _lower(self, node: Node) -> Operation:
        name, inputs, attributes = lower_call(node, self._backend_id)
        return Operation(
            name=name,
            inputs=tuple(self._index[source] for source in inputs),
            output=self._number(node),
            attributes=attributes,
        )

    def _constant(self, node: Node) -> Array | None:
        signature = self._program.graph_signature
        for names in (
            signature.inputs_to_parameters,
            signature.inputs_to_buffers,
            signature.inputs_to_lifted_tensor_constants,
        ):
            if node.name in names:
                return self._stored_tensor(names[node.name])
        return None

    def _stored_tensor(self, name: str) -> Array:
        # buffers that are not persistent are among the constants
        stored = self._program.state_dict.get(name)
        tensor = self._program.constants[name] if stored is None else stored
        tensor = tensor.detach().contiguous()
        if tensor.dtype == torch.bfloat16:
            # torch cannot convert bfloat16 to numpy; ml_dtypes gives numpy the type
            array: Array = tensor.view(torch.int16).numpy().view(DTYPES["bfloat16"])
        else:
            array = tensor.numpy()
        return array
