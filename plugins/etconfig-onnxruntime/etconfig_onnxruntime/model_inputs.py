"""Dimensions of inputs, and the use of weights, read from an ONNX model's bytes without the package onnx.

An ONNX file is a protobuf message. Only the fields on the way are read, others are skipped.
Source: onnx/onnx.proto, messages ModelProto, GraphProto, ValueInfoProto, TypeProto, TensorShapeProto,
NodeProto, TensorProto.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_GRAPH, _INPUT, _TYPE, _TENSOR, _SHAPE, _DIM = 7, 11, 2, 1, 2, 1
_WAY_TO_DIMS = (_TYPE, _TENSOR, _SHAPE, _DIM)
_OUTPUT, _ELEMENT, _DIM_VALUE, _EXTERNAL = 12, 1, 1, 13
_NEGATIVE, _MOST_BYTES = 1 << 63, 1 << 50
_NOT_A_MODEL = "it is cut off, damaged or not a model in ONNX format"
_ITEM_BYTES = {1: 4, 4: 2, 5: 2, 6: 4, 7: 8, 10: 2, 11: 8, 12: 4, 13: 8, 14: 8, 15: 16, 16: 2}
"""The size of an element by the number of its type; of others one byte."""
_NAME, _DIM_PARAM, _DENOTATION = 1, 2, 3
_NODE, _INITIALIZER, _NODE_INPUT, _OPERATOR, _INITIALIZER_NAME = 1, 5, 1, 4, 8
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Dimension(NamedTuple):
    """A dimension of an input that has a name or a denotation.

    Attributes:
        input: The name of the input.
        axis: The index of the dimension.
        name: Its name, if its size is open; or "".
        denotation: Its denotation, or "".
    """

    input: str
    axis: int
    name: str
    denotation: str


def named_dimensions(model: bytes) -> list[Dimension] | None:
    """Return the dimensions of the inputs; None if the bytes are not a model in ONNX format."""
    try:
        return [
            found
            for each in inside(memoryview(model), (_GRAPH, _INPUT))
            for axis, dim in enumerate(inside(each, _WAY_TO_DIMS))
            if (
                found := Dimension(_text(each, _NAME), axis, _text(dim, _DIM_PARAM), _text(dim, _DENOTATION))
            )[2:]
            != ("", "")
        ]
    except (ValueError, IndexError):
        return None


def convolution_share(model: memoryview) -> float:
    """Return the share of a model's weights that convolutions use; 0 if the bytes are not a model."""
    weights: dict[bytes, int] = {}
    convolved: set[bytes] = set()
    try:
        for graph in inside(model, (_GRAPH,)):
            for field, value in _fields(graph):
                if field == _INITIALIZER:
                    weights[_bytes(value, _INITIALIZER_NAME)] = len(value)
                elif field == _NODE and _bytes(value, _OPERATOR).startswith(b"Conv"):
                    convolved.update(bytes(each) for number, each in _fields(value) if number == _NODE_INPUT)
    except (ValueError, IndexError):
        return 0.0
    every = sum(weights.values())
    return sum(size for name, size in weights.items() if name in convolved) / every if every else 0.0


def argument_bytes(model: memoryview) -> int:
    """Return the size of a model's inputs and outputs, open sizes as 1.

    Raises:
        ValueError: the bytes are not a whole model, or a size is absurd.
    """
    try:
        graphs = [*inside(model, (_GRAPH,))]
        stored = {_bytes(each, _INITIALIZER_NAME) for each in inside(model, (_GRAPH, _INITIALIZER))}
        values = [each for field in (_INPUT, _OUTPUT) for each in inside(model, (_GRAPH, field))]
        given = (each for each in values if _bytes(each, _NAME) not in stored)
        found = sum(_tensor_bytes(each) for one in given for each in inside(one, (_TYPE, _TENSOR)))
    except (ValueError, IndexError):
        raise ValueError(_NOT_A_MODEL) from None
    if not graphs:
        raise ValueError(_NOT_A_MODEL)
    return found


def data_files(model: memoryview) -> set[str]:
    """Return the files beside a model that have weights of it. Raises ValueError: it is not a whole model."""
    try:
        entries = [*inside(model, (_GRAPH, _INITIALIZER, _EXTERNAL))]
        return {_text(each, 2) for each in entries if _text(each, 1) == "location"}
    except (ValueError, IndexError):
        raise ValueError(_NOT_A_MODEL) from None


def _tensor_bytes(tensor: memoryview) -> int:
    total = _ITEM_BYTES.get(_number(tensor, _ELEMENT), 1)
    for dim in inside(tensor, (_SHAPE, _DIM)):
        size = _number(dim, _DIM_VALUE)
        total *= max(1, size) if size < _NEGATIVE else 1
        if total > _MOST_BYTES:
            raise ValueError(_NOT_A_MODEL)
    return total


def inside(data: memoryview, way: tuple[int, ...]) -> Iterator[memoryview]:
    """Yield the bytes at the end of a way through messages, by the numbers of their fields."""
    if not way:
        yield data
        return
    for field, value in _fields(data):
        if field == way[0]:
            yield from inside(value, way[1:])


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the number and the bytes of each field that has a length. Raises as `every_field`."""
    return ((number, value) for number, value in every_field(data) if not isinstance(value, int))


def _number(data: memoryview, wanted: int) -> int:
    """Return a number inside of a message; 0 without one."""
    found = (value for number, value in every_field(data) if number == wanted and isinstance(value, int))
    return next(found, 0)


def every_field(data: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Yield the number of each field, and its bytes or number. Raises ValueError, IndexError."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _BYTES:
            size, at = _varint(data, at)
            if size > len(data) - at:
                raise ValueError("a field ends behind its message")
            yield tag >> 3, data[at : at + size]
            at += size
        elif kind == _VARINT:
            number, at = _varint(data, at)
            yield tag >> 3, number
        elif kind in (_FIXED32, _FIXED64):
            at += 4 if kind == _FIXED32 else 8
        else:
            raise ValueError("not a protobuf message")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("a number of more than ten bytes")


def _text(message: memoryview, wanted: int) -> str:
    """Return a text inside of a message; "" without one."""
    return _bytes(message, wanted).decode()


def _bytes(message: memoryview, wanted: int) -> bytes:
    return next((bytes(value) for field, value in _fields(message) if field == wanted), b"")
