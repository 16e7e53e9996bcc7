"""The ahead-of-time half: partitioners that put an ONNX model of a PyTorch program into delegates.

Needs the extra `[aot]`: torch, executorch, onnx and onnxscript. Example:

    edge = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[onnx_partitioner()])
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from etconfig.aot import whole_graph_partitioner
from etconfig.plugin.v1 import EngineRange, Envelope
from etconfig_onnxruntime.errors import BACKEND_ID
from etconfig_onnxruntime.payload import PAYLOAD_KIND, PAYLOAD_VERSION

if TYPE_CHECKING:
    from executorch.exir.backend.partitioner import Partitioner
    from onnx import ModelProto
    from torch.export import ExportedProgram


def onnx_partitioner() -> Partitioner:
    """Return a partitioner that makes one delegate of each method.

    Operators stay whole as the model was exported with them: ONNX has most of them, and ONNX Runtime fuses
    them better than their parts.

    Raises:
        ImportError: the extra `[aot]` is not installed.
    """
    return whole_graph_partitioner(BACKEND_ID, write_payload, keep_whole=lambda node: True)


def write_payload(edge_program: ExportedProgram, compile_specs: Mapping[str, bytes]) -> bytes:
    """Return the payload of one delegate: an ONNX model in an envelope.

    Raises:
        Exception: torch's exporter to ONNX does not know an operator; its message names it.
    """
    import onnx
    import torch

    _use_views(edge_program)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):  # it prints its progress
        warnings.simplefilter("ignore")
        exported = torch.onnx.export(edge_program, (), dynamo=True, verbose=False)
    if exported is None:
        raise RuntimeError("torch.onnx.export returned no program")
    model = exported.model_proto
    _forget_sources(model)
    onnx.checker.check_model(model)
    engine = EngineRange(name="onnxruntime", min="1.22")
    envelope = Envelope(backend=BACKEND_ID, kind=PAYLOAD_KIND, version=PAYLOAD_VERSION, engine=engine)
    return envelope.seal(model.SerializeToString(deterministic=True))


def _forget_sources(model: ModelProto) -> None:
    """Remove torch's debug information, which contains paths of the machine that exports."""
    for part in (model.graph, *model.graph.node, *model.graph.value_info, *model.functions):
        del part.metadata_props[:]
    for function in model.functions:
        for node in function.node:
            del node.metadata_props[:]


def _use_views(edge_program: ExportedProgram) -> None:
    """Replace operators such as `aten::select_copy` by `aten::select`, the form that the exporter knows."""
    import torch

    for node in edge_program.graph.nodes:
        operator = getattr(node.target, "_op", node.target)
        if node.op != "call_function" or not isinstance(operator, torch._ops.OpOverload):
            continue
        namespace, _, name = operator._schema.name.partition("::")
        packet = getattr(getattr(torch.ops, namespace), name.removesuffix("_copy"), None)
        if name.endswith("_copy") and packet is not None and operator._overloadname in packet.overloads():
            node.target = getattr(packet, operator._overloadname)
