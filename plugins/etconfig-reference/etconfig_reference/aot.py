"""Ahead of time: hands parts of a model to the reference backends while it is exported.

Needs executorch (`pip install etconfig-reference[aot]`):

    partitioner = ReferencePartitioner({"features": "ReferenceNpuBackend", "head": "ReferenceCpuBackend"})
    edge = to_edge_transform_and_lower(torch.export.export(model, args), partitioner=[partitioner])

One partitioner serves both backends, since a second one would decompose the operators
that the first asked to keep whole. Source: executorch exir/program/_program.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import final

import numpy as np
import numpy.typing as npt
import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from etconfig_reference.graph import Graph, Operation, Shape
from etconfig_reference.lowering import NotSupportedError, lower_call, static_shape
from etconfig_reference.payload import encode_graph

KEPT_WHOLE = [
    torch.ops.aten.avg_pool2d.default,
    torch.ops.aten.conv2d.default,
    torch.ops.aten.linear.default,
    torch.ops.aten.max_pool2d.default,
]
"""Operators that are not decomposed where the reference backends run them in one step."""


@final
class ReferenceCpuBackend(BackendDetails):
    """Writes payloads for `ReferenceCpuBackend`; the class name is the backend id."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Write one delegate's payload. Raises ValueError for any compile spec: there are none."""
        return _preprocess(edge_program, compile_specs)


@final
class ReferenceNpuBackend(BackendDetails):
    """Writes payloads for `ReferenceNpuBackend`; the class name is the backend id."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Write one delegate's payload. Raises ValueError for any compile spec: there are none."""
        return _preprocess(edge_program, compile_specs)


BACKEND_IDS = (ReferenceCpuBackend.__name__, ReferenceNpuBackend.__name__)


class ReferencePartitioner(Partitioner):
    """Delegates the submodules that `placement` names, as far as their operators are supported.

    Args:
        placement: Backend id by module path, such as `{"features": "ReferenceNpuBackend"}`. The
            longest path that holds a node decides; the empty path is the whole model.

    Raises:
        ValueError: a backend id is unknown, or, while partitioning, a path matches nothing.
    """

    def __init__(self, placement: Mapping[str, str]) -> None:
        super().__init__()
        unknown = sorted(set(placement.values()) - set(BACKEND_IDS))
        if unknown:
            raise ValueError(f"unknown backend {unknown[0]!r}; there are {', '.join(BACKEND_IDS)}")
        self._placement = dict(placement)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Keep operators whole only where they will be delegated."""
        return list(KEPT_WHOLE), self._is_delegated

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag what each backend gets; the graph itself stays as it is."""
        self._check_paths(exported_program)
        tags = {}
        for backend_id in sorted(set(self._placement.values())):
            for index, nodes in enumerate(self._propose(exported_program, backend_id)):
                tag = f"{backend_id}_{index}"
                tags[tag] = DelegationSpec(backend_id, [])
                for node in nodes:
                    node.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)

    def _check_paths(self, exported_program: ExportedProgram) -> None:
        used = {self._placed_path(node) for node in exported_program.graph.nodes}
        for path in self._placement:
            if path not in used:
                raise ValueError(f"no operation of the program lies in module {path!r}")

    def _propose(self, exported_program: ExportedProgram, backend_id: str) -> Iterator[list[Node]]:
        """The largest groups of nodes that `backend_id` can run in one go."""
        partitioner = CapabilityBasedPartitioner(
            exported_program.graph_module,
            _Support(lambda node: self._backend_of(node) == backend_id and self._is_delegated(node)),
            allows_single_node_partition=True,
        )
        for partition in partitioner.propose_partitions():
            yield list(partition.nodes)

    def _is_delegated(self, node: Node) -> bool:
        if self._backend_of(node) is None:
            return False
        try:
            lower_call(node)
        except NotSupportedError:
            return False
        return True

    def _backend_of(self, node: Node) -> str | None:
        path = self._placed_path(node)
        return None if path is None else self._placement[path]

    def _placed_path(self, node: Node) -> str | None:
        """The innermost module of the placement that holds `node`."""
        stack = node.meta.get("nn_module_stack") or {}
        paths = [path for path, _ in stack.values() if path in self._placement]
        return max(paths, key=len, default=None) if node.op == "call_function" else None


def lower_methods(methods: Mapping[str, ExportedProgram], backend_id: str) -> bytes:
    """A .pte of exported methods that delegate all they can to one backend."""
    partitioner = ReferencePartitioner({"": backend_id})
    edge = to_edge_transform_and_lower(dict(methods), partitioner={name: [partitioner] for name in methods})
    return bytes(edge.to_executorch().buffer)


class _Support(OperatorSupportBase):
    def __init__(self, is_supported: Callable[[Node], bool]) -> None:
        self._is_supported = is_supported

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        return self._is_supported(node)


def _preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
    if compile_specs:
        raise ValueError(f"the reference backends take no compile spec, given {compile_specs[0].key!r}")
    builder = _GraphBuilder(edge_program)
    return PreprocessResult(
        processed_bytes=encode_graph(builder.build()), debug_handle_map=builder.debug_handles
    )


class _GraphBuilder:
    """Numbers the values of a delegated program and lowers its nodes, in their order.

    Attributes:
        debug_handles: By the index of each operation, the handle of its node in ExecuTorch's tools.
    """

    def __init__(self, edge_program: ExportedProgram) -> None:
        self._program = edge_program
        self._index: dict[Node, int] = {}
        self._shapes: list[Shape] = []
        self.debug_handles: dict[int, tuple[int]] = {}

    def build(self) -> Graph:
        inputs: list[int] = []
        constants: dict[int, npt.NDArray[np.float32]] = {}
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
            shapes=tuple(self._shapes),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            constants=constants,
            operations=tuple(operations),
        )

    def _number(self, node: Node) -> int:
        self._shapes.append(static_shape(node))
        return self._index.setdefault(node, len(self._index))

    def _lower(self, node: Node) -> Operation:
        name, inputs, attributes = lower_call(node)
        return Operation(
            name=name,
            inputs=tuple(self._index[source] for source in inputs),
            output=self._number(node),
            attributes=attributes,
        )

    def _constant(self, node: Node) -> npt.NDArray[np.float32] | None:
        signature = self._program.graph_signature
        for names in (
            signature.inputs_to_parameters,
            signature.inputs_to_buffers,
            signature.inputs_to_lifted_tensor_constants,
        ):
            if node.name in names:
                return self._stored_tensor(names[node.name])
        return None

    def _stored_tensor(self, name: str) -> npt.NDArray[np.float32]:
        # buffers that are not persistent lie with the constants
        stored = self._program.state_dict.get(name)
        tensor = self._program.constants[name] if stored is None else stored
        array: npt.NDArray[np.float32] = tensor.detach().contiguous().numpy()
        return array
