"""The ahead-of-time half: delegates parts of a model to the backend when the model is exported.

It needs executorch and torch, which the extra `aot` installs:

    edge = to_edge_transform_and_lower(
        torch.export.export(model, args), partitioner=[example_npu_partitioner()]
    )
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from etconfig.aot import operator_name, operator_partitioner
from executorch.exir.backend.partitioner import Partitioner
from torch.export import ExportedProgram
from torch.fx import Node

from example_npu.ops import Shape, shape_of_result
from example_npu.payload import Array, Graph, Step, encode

_NAMES: Mapping[str, str] = {
    "aten::add.Tensor": "add",
    "aten::linear": "linear",
    "aten::mul.Tensor": "mul",
    "aten::relu": "relu",
    "aten::sub.Tensor": "sub",
}
"""The operation of `example_npu.ops` that computes each operator of an exported program."""


def example_npu_partitioner() -> Partitioner:
    """Return a partitioner that delegates everything that the device can compute."""
    # ExecuTorch keeps linear layers whole if the device can run them
    return operator_partitioner(
        "ExampleNpuBackend", write_payload, supported=_is_supported, keep_whole=["aten::linear"]
    )


def write_payload(program: ExportedProgram, compile_specs: Mapping[str, bytes]) -> bytes:
    """Return the payload of one delegate. Raises ValueError for any compile spec."""
    for key in compile_specs:
        raise ValueError(f"unknown compile spec {key!r}; the backend has none")
    return encode(_graph_of(program))


def _is_supported(node: Node) -> bool:
    try:
        name, operands = _operation(node)
        shapes = [_shape(operand) for operand in operands]
        return shape_of_result(name, shapes) == _shape(node)
    except ValueError:
        return False


def _operation(node: Node) -> tuple[str, list[Any]]:
    """Return the operation that computes `node`, and its operands. Raises ValueError if none."""
    name = _NAMES.get(operator_name(node) or "")
    # the only keyword argument is `alpha`, a factor of the second operand
    if name is None or any(value != 1 for value in node.kwargs.values()):
        raise ValueError(f"{node} is not an operation of the device")
    return name, [operand for operand in node.args if operand is not None]


def _shape(node: object) -> Shape:
    """Return the shape of a float32 tensor of fixed size. Raises ValueError for any other node."""
    value = node.meta.get("val") if isinstance(node, Node) else None
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        raise ValueError(f"{node} is not a float32 tensor")
    if not all(isinstance(size, int) and size > 0 for size in value.shape):
        raise ValueError(f"{node} has an empty or a dynamic shape")
    return tuple(value.shape)


def _graph_of(program: ExportedProgram) -> Graph:
    index: dict[Node, int] = {}
    inputs, constants, steps, outputs = [], {}, [], []
    for node in program.graph.nodes:
        if node.op == "output":
            outputs = [index[result] for result in node.args[0]]
            continue
        value = index.setdefault(node, len(index))
        if node.op == "placeholder":
            constant = _constant(program, node)
            if constant is None:
                inputs.append(value)
            else:
                constants[value] = constant
        else:
            name, operands = _operation(node)
            steps.append(Step(name, tuple(index[operand] for operand in operands), value))
    return Graph(
        shapes=tuple(_shape(node) for node in index),
        inputs=tuple(inputs),
        constants=constants,
        steps=tuple(steps),
        outputs=tuple(outputs),
    )


def _constant(program: ExportedProgram, node: Node) -> Array | None:
    """Return the parameter or constant that `node` stands for, or None if it is an input."""
    signature = program.graph_signature
    names = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    if node.name not in names:
        return None
    name = names[node.name]
    # buffers that are not persistent are among the constants
    tensor = program.state_dict.get(name)
    tensor = program.constants[name] if tensor is None else tensor
    array: Array = tensor.detach().contiguous().numpy()
    return array
