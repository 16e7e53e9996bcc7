"""The memory of a compiled model, from measurements of OpenVINO 2026.4 on a CPU: `benchmarks/bench_need.py`.

A compiled model has code for each operation, a copy of the weights and a packed one, and the values between
the operations. All models share threads and buffers, which are there as soon as one is compiled.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from etconfig.plugin.v1 import DelegateFacts, DelegateMemory, InvalidPayloadError

_ENGINE_BYTES = 12 << 20
_WEIGHTS = 2
_OPERATION_BYTES, _OPERATION_BYTES_OF_FILE = 14 << 10, 44 << 10
"""Of a file, constants were folded when it was saved: fewer operations are left, and these have code."""
_ARGUMENTS, _ARGUMENTS_OF_FILE = 1.5, 3.5
"""The values between the operations, in sizes of the inputs and outputs; of a file with copies of these."""

_MOST_BYTES = 1 << 50

_OPERATION = re.compile(rb"<layer ")
_PARAMETER = re.compile(
    rb'type="Parameter"[^>]*>\s*<data shape="([\d,]{0,200})" element_type="[a-z]*(\d{0,3})'
)
_RESULT = re.compile(
    rb'type="Result".{0,400}?<port id="0" precision="[A-Z]*(\d{0,3})"[^>]*>(.{0,400}?)</port>', re.DOTALL
)
_DIM = re.compile(rb"<dim>(\d{1,12})</dim>")


def model_memory(model: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate or a file. Of an ONNX file, operations and values are not known."""
    data = model.read()
    operations = sum(1 for _ in _OPERATION.finditer(data))
    of_operation, of_arguments = _OPERATION_BYTES, _ARGUMENTS
    weight_bytes, argument_bytes = model.payload_bytes, model.argument_bytes
    if model.path is not None:
        path = Path(model.path)
        of_operation, of_arguments = _OPERATION_BYTES_OF_FILE, _ARGUMENTS_OF_FILE
        if path.suffix == ".xml":
            weight_bytes = _weight_bytes(path, data)
            argument_bytes = _argument_bytes(data)
    return DelegateMemory(
        held_bytes=of_operation * operations + _WEIGHTS * weight_bytes,
        running_bytes=int(of_arguments * argument_bytes),
        loading_bytes=_ENGINE_BYTES,
        workspace_bytes=_ENGINE_BYTES,
        is_measured=operations > 0,
    )


def _weight_bytes(path: Path, data: memoryview) -> int:
    """Return the size of the weights beside a model. Raises InvalidPayloadError: one of them is not whole."""
    if not bytes(data[-200:]).rstrip().endswith(b"</net>"):
        raise InvalidPayloadError(cause="it is cut off, or not a model in OpenVINO's format")
    weights = path.with_suffix(".bin")
    if not weights.is_file():
        raise InvalidPayloadError(cause=f"its weights are missing: {weights.name}")
    return weights.stat().st_size


def _argument_bytes(data: memoryview) -> int:
    """Return the size of the inputs and outputs of a model. Raises InvalidPayloadError: a size is absurd."""
    inputs = ((bits, shape.split(b",")) for shape, bits in _PARAMETER.findall(data))
    outputs = ((bits, _DIM.findall(dims)) for bits, dims in _RESULT.findall(data))
    found = sum(
        math.prod(max(1, int(size or 1)) for size in sizes) * int(bits or 8) // 8
        for bits, sizes in (*inputs, *outputs)
    )
    if found > _MOST_BYTES:
        raise InvalidPayloadError(cause="its inputs and outputs are too large")
    return found
