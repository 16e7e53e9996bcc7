"""The open dimensions of an ONNX model's inputs, read from its bytes without the package onnx.

An ONNX file is a protobuf message. Only the fields on the way to the dimensions are read, others are skipped.
Source: onnx/onnx.proto, messages ModelProto, GraphProto, ValueInfoProto, TypeProto, TensorShapeProto.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_GRAPH, _INPUT, _TYPE, _TENSOR, _SHAPE, _DIM = 7, 11, 2, 1, 2, 1
_WAY = (_GRAPH, _INPUT, _TYPE, _TENSOR, _SHAPE, _DIM)
_DIM_PARAM, _DENOTATION = 2, 3
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class OpenDimensions(NamedTuple):
    """The dimensions whose size a model leaves open.

    Attributes:
        names: Their names.
        denotations: The denotations of dimensions.
    """

    names: tuple[str, ...]
    denotations: tuple[str, ...]


def open_dimensions(model: bytes) -> OpenDimensions | None:
    """Return the dimensions of the inputs; None if the bytes are not a model in ONNX format."""
    try:
        dims = list(_inside(memoryview(model), _WAY))
        names = [_text(value) for dim in dims for field, value in _fields(dim) if field == _DIM_PARAM]
        denotations = [_text(value) for dim in dims for field, value in _fields(dim) if field == _DENOTATION]
        denotations = [text for text in denotations if text]
    except (ValueError, IndexError):
        return None
    return OpenDimensions(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(denotations)))


def _inside(data: memoryview, way: tuple[int, ...]) -> Iterator[memoryview]:
    if not way:
        yield data
        return
    for field, value in _fields(data):
        if field == way[0]:
            yield from _inside(value, way[1:])


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the number and the bytes of each field that has a length. Raises ValueError, IndexError."""
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
            _, at = _varint(data, at)
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


def _text(value: memoryview) -> str:
    return bytes(value).decode()
