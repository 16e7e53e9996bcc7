"""The nodes of a payload of XNNPACK, the names of weights in data files, and the memory of its values.

Source: backends/xnnpack/runtime/XNNHeader.h, backends/xnnpack/serialization/schema.fbs.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise

from etconfig.plugin.v1 import InvalidPayloadError, PayloadDescription
from etconfig_upstream.flatbuffers import items, number, root, scalar, tables, target, text

_MAGIC = b"XH00"
_MAGIC_AT, _OFFSET_AT = 4, 10
_NODES, _VALUES, _CONSTANT_DATA, _NAMED_KEY = 1, 2, 8, 2
"""The numbers of the fields `XNNGraph.xnodes`, `xvalues`, `constant_data`, `ConstantDataOffset.named_key`."""
_UNION_TYPE, _UNION = 0, 1
_TENSOR, _QUANTIZED = 1, 2
"""`XNNTensorValue`, and `XNNQuantizedTensorValue`, whose first field is one."""
_DATATYPE, _DIMS, _CONSTANT, _FLAGS, _ID = 0, 2, 3, 5, 6
_EXTERNAL = 3
"""The bits of `XNNTensorValue.flags` of inputs and outputs."""
_ITEM_BYTES = {1: 4, 2: 2, 5: 4, 7: 4, 12: 4, 13: 4, 14: 2}
"""The size of an element by the number of its datatype; of others one byte."""
_CONVOLUTION, _DEPTHWISE = 7, 13
_KERNEL_HEIGHT, _KERNEL_WIDTH, _STRIDE_WIDTH, _OUTPUT = 4, 5, 7, 18
_KINDS = re.findall(
    r"\w+",
    "Add FullyConnected Softmax Sigmoid StaticTranspose Clamp Conv2d Div StaticResizeBilinear2D "
    "StaticConstantPad AvgPooling2d Minimum DepthwiseConv2d MaxPooling2d Multiply Subtract Floor Convert "
    "GlobalAvgPooling2d StaticReshape ArgMaxPooling2d SquareRoot Ceiling Hardswish LeakyReLU Maximum Negate "
    "Square ELU Abs PReLU Concatenate2 Concatenate3 Concatenate4 StaticSlice ScaledDotProductAttention "
    "BatchMatrixMultiply Concatenate5 ConvTranspose2d ReciprocalSquareRoot Log Gelu Tanh Exp Sin Copy Cos",
)
"""The kinds of nodes, from the first number of the union `XNodeUnion` on."""
_MAX_NODES = 1_000_000
_POINTER_BYTES = 8
_MAX_RANK = 6
"""XNN_MAX_TENSOR_DIMS."""


def data_names(payload: bytes) -> list[str]:
    """Return the names, each once; none of a payload that is not one of XNNPACK, or damaged."""
    try:
        return list(dict.fromkeys(_names(payload)))
    except (struct.error, UnicodeDecodeError):
        return []


def _names(payload: bytes) -> Iterator[str]:
    for table in _tables(payload, _CONSTANT_DATA):
        name = text(payload, table, _NAMED_KEY)
        if name:
            yield name


def describe(payload: bytes, compile_specs: object) -> PayloadDescription:
    """Return the nodes of a payload by kind. Raises InvalidPayloadError: it is damaged, or something else."""
    try:
        graph = _graph(payload)
        nodes = islice(tables(payload, graph, _NODES), _MAX_NODES)
        kinds = Counter(scalar(payload, node, _UNION_TYPE, "B") for node in nodes)
    except struct.error as error:
        raise InvalidPayloadError(cause="it is damaged, or not a payload of XNNPACK") from error
    if kinds.total() == _MAX_NODES:
        raise InvalidPayloadError(cause=f"it is damaged: it has {_MAX_NODES} nodes or more")
    names = {kind: _KINDS[kind - 1] if 1 <= kind <= len(_KINDS) else f"node {kind}" for kind in kinds}
    return PayloadDescription(operators={names[kind]: count for kind, count in sorted(kinds.items())})


def value_sizes(payload: bytes) -> tuple[int, int]:
    """Return the bytes that a delegate needs beside its weights.

    Returns:
        Those of the pointers that each convolution keeps, one for each element of the kernel and each output;
        and of the two largest values in a row between the operations. Both 0 for a payload that is damaged.
    """
    try:
        values = dict(_values(payload))
        between = [size for size, is_between in (each[1:] for each in values.values()) if is_between]
        largest = max((sum(each) for each in pairwise([0, *between])), default=0)
        return sum(_pointer_bytes(payload, {key: each[0] for key, each in values.items()})), largest
    except (struct.error, OverflowError):
        return 0, 0


def _values(payload: bytes) -> Iterator[tuple[int, tuple[list[int], int, bool]]]:
    """Yield for each value its id, its sizes, its bytes, and whether it lies between operations."""
    for table in _tables(payload, _VALUES):
        kind, value = scalar(payload, table, _UNION_TYPE, "B"), target(payload, table, _UNION)
        value = target(payload, value, 0) if kind == _QUANTIZED and value is not None else value
        if kind in (_TENSOR, _QUANTIZED) and value is not None:
            dims = target(payload, value, _DIMS)
            sizes = [] if dims is None else [*islice(items(payload, dims), _MAX_RANK)]
            item_bytes = _ITEM_BYTES.get(scalar(payload, value, _DATATYPE, "h"), 1)
            is_constant = scalar(payload, value, _CONSTANT, "I") != 0
            is_between = not is_constant and not scalar(payload, value, _FLAGS, "I") & _EXTERNAL
            yield scalar(payload, value, _ID, "I"), (sizes, math.prod(sizes) * item_bytes, is_between)


def _pointer_bytes(payload: bytes, sizes: dict[int, list[int]]) -> Iterator[int]:
    """Yield the bytes of the pointers of each convolution. Source: XNNPACK, src/indirection.c."""
    for table in _tables(payload, _NODES):
        kind, node = scalar(payload, table, _UNION_TYPE, "B"), target(payload, table, _UNION)
        if kind not in (_CONVOLUTION, _DEPTHWISE) or node is None:
            continue
        high, wide, stride, output = (
            scalar(payload, node, number, "I")
            for number in (_KERNEL_HEIGHT, _KERNEL_WIDTH, _STRIDE_WIDTH, _OUTPUT)
        )
        _, rows, columns, *_ = [*sizes.get(output, []), 0, 0, 0]  # images lie channels last
        if kind == _DEPTHWISE:  # columns that neighbors share are there once
            yield _POINTER_BYTES * rows * high * (wide + max(0, columns - 1) * min(stride, wide))
        elif high * wide > 1:
            yield _POINTER_BYTES * rows * columns * high * wide


def _tables(payload: bytes, field: int) -> Iterator[int]:
    """Yield the places of the tables in a vector of the graph; none of another payload."""
    if payload[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] == _MAGIC:
        yield from tables(payload, _graph(payload), field)


def _graph(payload: bytes) -> int:
    """Return the place of the graph. Raises struct.error: it is not there."""
    if payload[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] != _MAGIC:
        raise struct.error("it has no header XH00")
    return root(payload, number("I", payload, _OFFSET_AT))
