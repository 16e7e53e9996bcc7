"""A reader of FlatBuffers on the `flatbuffers` package, without generated code: the oracle for our writer."""

from __future__ import annotations

import struct
from typing import Any

import flatbuffers.table
from flatbuffers import number_types


class Reader:
    """A table of a buffer, its fields by slot."""

    def __init__(self, table: flatbuffers.table.Table) -> None:
        self._table = table

    @classmethod
    def of_root(cls, data: bytes, identifier: bytes, *, with_size: bool = False) -> Reader:
        start = 4 if with_size else 0
        if with_size:
            assert struct.unpack_from("<I", data) == (len(data) - 4,)
        root, found = struct.unpack_from("<I4s", data, start)
        assert found == identifier
        return cls(flatbuffers.table.Table(bytearray(data), start + root))

    def _offset(self, slot: int) -> int:
        offset: int = self._table.Offset(4 + 2 * slot)
        return offset

    def integer(self, slot: int, flags: Any = number_types.Int32Flags) -> int | None:
        offset = self._offset(slot)
        position = self._table.Pos + offset
        assert position % flags.bytewidth == 0, "not aligned"
        return self._table.Get(flags, position) if offset else None

    def string(self, slot: int) -> str | None:
        offset = self._offset(slot)
        return self._table.String(self._table.Pos + offset).decode() if offset else None

    def data(self, slot: int) -> bytes | None:
        offset = self._offset(slot)
        if not offset:
            return None
        start = self._table.Vector(offset)
        return bytes(self._table.Bytes[start : start + self._table.VectorLen(offset)])

    def tables(self, slot: int) -> list[Reader]:
        offset = self._offset(slot)
        if not offset:
            return []
        start, count = self._table.Vector(offset), self._table.VectorLen(offset)
        places = (self._table.Indirect(start + 4 * index) for index in range(count))
        return [Reader(flatbuffers.table.Table(self._table.Bytes, place)) for place in places]

    def table(self, slot: int) -> Reader:
        place = self._table.Indirect(self._table.Pos + self._offset(slot))
        return Reader(flatbuffers.table.Table(self._table.Bytes, place))
