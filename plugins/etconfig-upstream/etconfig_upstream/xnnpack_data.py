"""The names of the weights that a payload of XNNPACK leaves to data files, and the memory of its values.

Source: backends/xnnpack/runtime/XNNHeader.h, backends/xnnpack/serialization/schema.fbs.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from itertools import islice, pairwise

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
        text = _field(payload, table, _NAMED_KEY)
        if text is not None:
            name = payload[text + 4 : text + 4 + _number("I", payload, text)].decode()
            if name:
                yield name


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
        kind, value = _scalar(payload, table, _UNION_TYPE, "B"), _field(payload, table, _UNION)
        value = _field(payload, value, 0) if kind == _QUANTIZED and value is not None else value
        if kind in (_TENSOR, _QUANTIZED) and value is not None:
            dims = _field(payload, value, _DIMS)
            sizes = [] if dims is None else [*islice(_items(payload, dims), _MAX_RANK)]
            item_bytes = _ITEM_BYTES.get(_scalar(payload, value, _DATATYPE, "h"), 1)
            is_constant = _scalar(payload, value, _CONSTANT, "I") != 0
            is_between = not is_constant and not _scalar(payload, value, _FLAGS, "I") & _EXTERNAL
            yield _scalar(payload, value, _ID, "I"), (sizes, math.prod(sizes) * item_bytes, is_between)


def _pointer_bytes(payload: bytes, sizes: dict[int, list[int]]) -> Iterator[int]:
    """Yield the bytes of the pointers of each convolution. Source: XNNPACK, src/indirection.c."""
    for table in _tables(payload, _NODES):
        kind, node = _scalar(payload, table, _UNION_TYPE, "B"), _field(payload, table, _UNION)
        if kind not in (_CONVOLUTION, _DEPTHWISE) or node is None:
            continue
        high, wide, stride, output = (
            _scalar(payload, node, number, "I")
            for number in (_KERNEL_HEIGHT, _KERNEL_WIDTH, _STRIDE_WIDTH, _OUTPUT)
        )
        _, rows, columns, *_ = [*sizes.get(output, []), 0, 0, 0]  # images lie channels last
        if kind == _DEPTHWISE:  # columns that neighbors share are there once
            yield _POINTER_BYTES * rows * high * (wide + max(0, columns - 1) * min(stride, wide))
        elif high * wide > 1:
            yield _POINTER_BYTES * rows * columns * high * wide


def _tables(payload: bytes, number: int) -> Iterator[int]:
    """Yield the places of the tables in a vector of the graph."""
    if payload[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] != _MAGIC:
        return
    start = _number("I", payload, _OFFSET_AT)
    vector = _field(payload, start + _number("I", payload, start), number)
    if vector is not None:
        for index, offset in enumerate(_items(payload, vector)):
            yield vector + 4 + 4 * index + offset


def _items(payload: bytes, vector: int) -> Iterator[int]:
    """Yield the numbers of a vector, at most as many as fit into the payload."""
    for index in range(min(_number("I", payload, vector), len(payload) // 4)):
        yield _number("I", payload, vector + 4 + 4 * index)


def _field(payload: bytes, table: int, number: int) -> int | None:
    """Return the place of what a field of a table refers to; None if the table does not have it."""
    place = _place(payload, table, number)
    return None if place is None else place + _number("I", payload, place)


def _scalar(payload: bytes, table: int, number: int, kind: str) -> int:
    """Return a number in a table, by default 0."""
    place = _place(payload, table, number)
    return 0 if place is None else _number(kind, payload, place)


def _place(payload: bytes, table: int, number: int) -> int | None:
    layout = table - _number("i", payload, table)
    if 4 + 2 * number >= _number("H", payload, layout):
        return None
    offset = _number("H", payload, layout + 4 + 2 * number)
    return table + offset if offset else None


def _number(kind: str, payload: bytes, place: int) -> int:
    if place < 0:
        raise struct.error("before the payload")
    number: int = struct.unpack_from(f"<{kind}", payload, place)[0]
    return number
