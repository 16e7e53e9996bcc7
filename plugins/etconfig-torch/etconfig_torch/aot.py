"""The ahead-of-time half: delegates models to `TorchBackend` when they are exported.

Needs the dependencies of the extra `aot`, executorch and torch:

    edge = to_edge_transform_and_lower(torch.export.export(model, args), partitioner=[torch_partitioner()])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from typing import Any

from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.passes.memory_format_ops_pass import MemoryFormatOpsMap, get_memory_format
from torch._export.verifier import Verifier
from torch.export import ExportedProgram
from torch.fx import Node

from etconfig.aot import EngineRange, Envelope, operator_partitioner, whole_graph_partitioner
from etconfig_torch.archive import load_program, save_program
from etconfig_torch.backend import KIND, VERSIONS
from etconfig_torch.errors import BACKEND_ID


def torch_partitioner(supported: Iterable[str] | Callable[[Node], bool] | None = None) -> Partitioner:
    """Return a partitioner that delegates a model to `TorchBackend`, with its operators as exported.

    Args:
        supported: Names of operators, such as `aten::linear`, or a function of a node; by default the whole
            method is one delegate.

    Raises:
        ValueError: an operator is unknown.
    """
    if supported is None:
        return whole_graph_partitioner(BACKEND_ID, preprocess, keep_whole=lambda node: True)
    return operator_partitioner(BACKEND_ID, preprocess, supported=supported, keep_whole=lambda node: True)


def preprocess(edge_program: ExportedProgram, compile_specs: Mapping[str, bytes]) -> bytes:
    """Return the payload of one delegate.

    Raises:
        ValueError: there are compile specs.
        UnsafeArchiveError: the program calls something that `TorchBackend` does not read.
    """
    for key in compile_specs:
        raise ValueError(f"compile spec {key!r} is not known; {BACKEND_ID} has none")
    for node in edge_program.graph.nodes:
        _to_aten(node)
        node.meta = {key: node.meta[key] for key in ("val", "tensor_meta") if key in node.meta}
    edge_program.graph_module.recompile()
    edge_program._verifiers = [Verifier]  # the operators are PyTorch's own again
    edge_program._guards_code = []
    edge_program._example_inputs = None
    saved = save_program(edge_program)
    load_program(saved)  # refuses now what would be refused on the device
    installed = version("torch")
    oldest = ".".join(installed.split(".")[:2])
    engine = EngineRange(name="torch", built=installed, min=oldest)
    return Envelope(backend=BACKEND_ID, kind=KIND, version=VERSIONS[-1], engine=engine).seal(saved)


def _to_aten(node: Node) -> None:
    """Turn a call of ExecuTorch's edge dialect into one of PyTorch."""
    if not isinstance(node.target, EdgeOpOverload):
        return
    reverted: Any = MemoryFormatOpsMap.get(node.target)
    if reverted is not None:
        named = dict(node.kwargs)
        rank = node.meta["val"].dim()
        dim_order = named.pop("dim_order", None)
        named["memory_format"] = get_memory_format(
            list(range(rank)) if dim_order is None else list(dim_order)
        )
        node.target, node.kwargs = reverted, named
    node.target = node.target._op


def lower_methods(methods: Mapping[str, ExportedProgram]) -> bytes:
    """Return a .pte of exported methods that delegate everything to `TorchBackend`."""
    from executorch.exir import to_edge_transform_and_lower

    partitioner = torch_partitioner()
    edge = to_edge_transform_and_lower(dict(methods), partitioner={name: [partitioner] for name in methods})
    return bytes(edge.to_executorch().buffer)
