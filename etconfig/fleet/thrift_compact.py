"""The compact protocol of Thrift, in which Parquet writes its footers: bytes to plain trees, and back.

Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

ThriftStruct: TypeAlias = "dict[int, tuple[int, Any]]"
"""A struct: of each field the type and the value, by its number. A list is its type with the values."""

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_STOP = 0
_LONG_LIST = 15
"""The size in the first byte of a list whose real size follows."""

_MAX_VARINT_BYTES = 10
_MAX_DEPTH = 32


class ThriftReader:
    """A reader of one struct after the other.

    Args:
        data: The bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0
        self._depth = 0

    def read_struct(self) -> ThriftStruct:
        """Return the next struct.

        Raises:
            ValueError: the bytes are not one.
        """
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("structs are nested too deep")
        found: ThriftStruct = {}
        number = 0
        while (head := self._byte()) != _STOP:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            found[number] = (head & 15, self._value(head & 15))
        self._depth -= 1
        return found

    def _value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        return self._element(kind)

    def _element(self, kind: int) -> Any:
        """Return a value as it stands in a list, where truth values have a byte of their own."""
        if kind in (I16, I32, I64):
            return self._zigzag()
        if kind == BINARY:
            return self._take(self._varint())
        if kind == STRUCT:
            return self.read_struct()
        if kind in (LIST, SET):
            return self._list()
        if kind == DOUBLE:
            return struct.unpack("<d", self._take(8))[0]
        if kind == BYTE:
            return self._byte()
        if kind in (TRUE, FALSE):
            return self._byte() == TRUE
        raise ValueError(f"type {kind} is not read")

    def _list(self) -> tuple[int, list[Any]]:
        head = self._byte()
        count = head >> 4 if head >> 4 != _LONG_LIST else self._varint()
        return head & 15, [self._element(head & 15) for _ in range(count)]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        found = self._data[self._place : self._place + count]
        if len(found) != count:
            raise ValueError("the bytes end within a value")
        self._place += count
        return found

    def _varint(self) -> int:
        found = 0
        for place in range(_MAX_VARINT_BYTES):
            byte = self._byte()
            found |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return found
        raise ValueError("a number has too many bytes")

    def _zigzag(self) -> int:
        found = self._varint()
        return found >> 1 ^ -(found & 1)


def thrift_bytes(tree: Mapping[int, tuple[int, Any]]) -> bytes:
    """Return a struct as bytes."""
    found = bytearray()
    before = 0
    for number, (kind, value) in sorted(tree.items()):
        head = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        if 0 < number - before <= 15:
            found.append(number - before << 4 | head)
        else:
            found.append(head)
            found += _zigzag(number)
        if kind not in (TRUE, FALSE):
            found += _element(kind, value)
        before = number
    found.append(_STOP)
    return bytes(found)


def thrift_list(kind: int, elements: Sequence[bytes]) -> bytes:
    """Return a list of elements that are bytes already."""
    count = len(elements)
    head = (
        bytes([count << 4 | kind]) if count < _LONG_LIST else bytes([_LONG_LIST << 4 | kind]) + _varint(count)
    )
    return head + b"".join(elements)


def _element(kind: int, value: Any) -> bytes:
    if kind in (I16, I32, I64):
        return _zigzag(value)
    if kind == BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == STRUCT:
        return thrift_bytes(value)
    if kind in (LIST, SET):
        inner, values = value
        return thrift_list(inner, [_element(inner, each) for each in values])
    if kind == DOUBLE:
        return struct.pack("<d", value)
    if kind == BYTE:
        return bytes([value])
    return bytes([TRUE if value else FALSE])


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else ~value << 1 | 1)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
