"""The ahead-of-time half: delegates what OpenVINO can run, as OpenVINO IR in an envelope.

Needs the dependencies of the extra `aot`, executorch, torch and openvino:

    edge = to_edge_transform_and_lower(torch.export.export(model, args), partitioner=[openvino_partitioner()])

ExecuTorch's own OpenvinoPartitioner compiles for the machine that exports; such a program runs on that
OpenVINO and kind of processor alone. The IR of this partitioner is compiled where the program is loaded, with
the options of each instance, and any changed bit is an error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etconfig.aot import operator_partitioner, whole_graph_partitioner
from etconfig.plugin.v1 import EngineRange, Envelope
from etconfig_openvino.declared import CAPABILITIES
from etconfig_openvino.installed import BACKEND_ID, installed_version, openvino
from etconfig_openvino.payload import IR, VERSION, join_ir

if TYPE_CHECKING:
    from executorch.exir.backend.partitioner import Partitioner
    from torch.export import ExportedProgram
    from torch.fx import Node

_KEPT = (
    "aten::pixel_shuffle",
    "aten::scaled_dot_product_attention",
    "aten::stack",
    "aten::upsample_bilinear2d.vec",
    "aten::upsample_nearest2d.vec",
)
"""Operators for which OpenVINO has one of its own, and which ExecuTorch would decompose."""

_OLDEST_ENGINE = "2025.0"


def openvino_partitioner(
    *, device: str | None = None, supported: Iterable[str] | Callable[[Node], bool] | None = None
) -> Partitioner:
    """Return a partitioner that delegates the largest parts of a program that OpenVINO can run.

    Args:
        device: The device that is stored in the program, which is the default of the option `device`.
        supported: Names of operators such as `aten::relu`, or a function that decides on a node; by default,
            the operators that OpenVINO's frontend for torch supports.

    Raises:
        ImportError: torch or executorch is not installed.
        BackendUnavailableError: OpenVINO is not installed.
    """
    chosen = supported_operators() if supported is None else supported
    return operator_partitioner(
        BACKEND_ID, preprocess, supported=chosen, compile_specs=_specs(device), keep_whole=_KEPT
    )


def whole_model_partitioner(*, device: str | None = None) -> Partitioner:
    """Return a partitioner that delegates whole methods; a method that OpenVINO cannot run is an error.

    Args:
        device: As for `openvino_partitioner`.

    Raises:
        ImportError: torch or executorch is not installed.
    """
    return whole_graph_partitioner(BACKEND_ID, preprocess, compile_specs=_specs(device), keep_whole=_KEPT)


def lower_methods(methods: Mapping[str, ExportedProgram]) -> bytes:
    """Return a .pte of exported methods that delegate as much as possible to OpenVINO."""
    from executorch.exir import to_edge_transform_and_lower

    partitioners = {name: [openvino_partitioner()] for name in methods}
    edge = to_edge_transform_and_lower(dict(methods), partitioner=partitioners)
    return bytes(edge.to_executorch().buffer)


def supported_operators() -> Callable[[Node], bool]:
    """Return a function that decides whether OpenVINO's frontend for torch can translate a node.

    Raises:
        BackendUnavailableError: OpenVINO is not installed.
    """
    openvino()
    from openvino.frontend.pytorch.torchdynamo.op_support import OperatorSupport

    known = {each.removeprefix("torch.ops.") for each in OperatorSupport({})._support_dict}

    def is_supported(node: Node) -> bool:
        schema: Any = getattr(node.target, "_schema", None)
        if schema is None:
            return False
        name = schema.name.replace("::", ".") + f".{schema.overload_name}".rstrip(".")
        return (name in known or f"{name}.default" in known) and _has_our_types(node)

    return is_supported


def _has_our_types(node: Node) -> bool:
    """True if the tensors of a node have types that a delegate may have at its boundary."""
    for each in (node, *node.all_input_nodes):
        values = each.meta.get("val")
        for value in values if isinstance(values, (tuple, list)) else (values,):
            if hasattr(value, "dtype") and str(value.dtype).removeprefix("torch.") not in CAPABILITIES.dtypes:
                return False
    return True


def preprocess(program: ExportedProgram, compile_specs: Mapping[str, bytes]) -> bytes:
    """Return the payload of one delegate.

    Raises:
        ValueError: OpenVINO cannot translate the program; the message names the operators.
    """
    model = to_openvino(program)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "model.xml")
        openvino().save_model(model, path, compress_to_fp16=False)
        payload = join_ir(path.read_bytes(), path.with_suffix(".bin").read_bytes())
    engine = EngineRange(name="openvino", built=installed_version(), min=_OLDEST_ENGINE)
    return Envelope(backend=BACKEND_ID, kind=IR, version=VERSION, engine=engine).seal(payload)


def to_openvino(program: ExportedProgram) -> Any:
    """Return an `openvino.Model` of a program in ExecuTorch's edge dialect, with the program's own shapes.

    Raises:
        ValueError: OpenVINO cannot translate the program; the message names the operators.
    """
    from executorch.exir.passes.memory_format_ops_pass import DimOrderOpsRevertPass
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.fx_decoder import TorchFXPythonDecoder

    reverted = DimOrderOpsRevertPass()(program.graph_module)
    if reverted is not None:
        program._graph_module = reverted.graph_module
    decoder = TorchFXPythonDecoder(program.module())
    frontend = FrontEndManager().load_by_framework("pytorch")
    try:
        model = frontend.convert(frontend.load(decoder))
    except RuntimeError as error:
        raise ValueError(f"OpenVINO cannot translate the program: {error}") from error
    for port, value in zip(model.inputs, _inputs(program), strict=True):
        node = port.get_node()
        node.set_element_type(openvino().Type(str(value.dtype).removeprefix("torch.")))
        node.set_partial_shape(openvino().PartialShape([_dimension(size) for size in value.shape]))
    model.validate_nodes_and_infer_types()
    return model


def _inputs(program: ExportedProgram) -> list[Any]:
    names = set(program.graph_signature.user_inputs)
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in names]
    for node in placeholders:
        if not hasattr(node.meta["val"], "dtype"):
            raise ValueError(f"input {node.name} of the delegate is a number; OpenVINO takes tensors only")
    return [node.meta["val"] for node in placeholders]


def _dimension(size: Any) -> int:
    """Return a size, or -1 for a size that is known when the program runs."""
    return size if type(size) is int else -1


def _specs(device: str | None) -> Mapping[str, bytes]:
    return {} if device is None else {"device": device.encode()}
