"""Bounded reading of FlatBuffers tables from bytes that may be anything."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

ItemT = TypeVar("ItemT")

_TABLE_BYTES = 8
"""A table takes at least four bytes, and four more wherever something refers to it."""

_MOST_FIELDS = 16
"""How many fields of a table are looked at; no table here has more, and vtables may be shared."""


class Tables:
    """The tables of one buffer.

    In a sound buffer nothing overlaps, so a budget of tables and of text bytes that follows from its size is
    never used up; in a damaged one it keeps the work in proportion.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._tables_left = len(data) // _TABLE_BYTES
        self._text_bytes_left = len(data)
        self._texts: dict[int, str] = {}

    def root(self) -> Table:
        """The root table.

        Raises:
            ValueError: there is none.
            struct.error: the buffer ends before it, as for all that reads.
        """
        return self.table_at(self.u32(0))

    def u32(self, position: int) -> int:
        """The unsigned integer at a position."""
        number: int = struct.unpack_from("<I", self.data, position)[0]
        return number

    def table_at(self, position: int) -> Table:
        """The table at a position, its frame checked."""
        self._tables_left -= 1
        if self._tables_left < 0:
            raise ValueError("tables overlap")
        (to_vtable,) = struct.unpack_from("<i", self.data, position)
        vtable = position - to_vtable
        if vtable < 0:
            raise ValueError("a table's vtable lies before the file")
        vtable_bytes, table_bytes = struct.unpack_from("<HH", self.data, vtable)
        if vtable_bytes < 4 or vtable_bytes % 2 or vtable + vtable_bytes > len(self.data):
            raise ValueError("a vtable has a wrong size")
        if table_bytes < 4 or position + table_bytes > len(self.data):
            raise ValueError("a table has a wrong size")
        known = self.data[vtable + 4 : vtable + min(vtable_bytes, 4 + 2 * _MOST_FIELDS)]
        return Table(self, position, table_bytes, _offsets(known))

    def references_at(self, position: int) -> Sequence[int]:
        """Where the items of the vector at a position are."""
        count = self.u32(position)
        if count > (len(self.data) - position - 4) // 4:
            raise ValueError("a vector reaches past the end")
        offsets = struct.unpack_from(f"<{count}I", self.data, position + 4)
        return [position + 4 + 4 * index + offset for index, offset in enumerate(offsets)]

    def text_at(self, position: int) -> str:
        """The text at a position; one that many refer to is decoded once."""
        text = self._texts.get(position)
        if text is None:
            size_bytes = self.u32(position)
            end = position + 4 + size_bytes
            self._text_bytes_left -= size_bytes
            if self._text_bytes_left < 0 or self.data[end : end + 1] != b"\0":
                raise ValueError("a text does not end where it should")
            try:
                text = self.data[position + 4 : end].decode()
            except UnicodeDecodeError as error:
                raise ValueError("a text is not UTF-8") from error
            self._texts[position] = text
        return text


@lru_cache(maxsize=64)
def _offsets(vtable: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(vtable) // 2}H", vtable)


class Table:
    """One table; fields are asked for by slot, and checked when they are."""

    def __init__(self, tables: Tables, position: int, size_bytes: int, offsets: Sequence[int]) -> None:
        self._tables = tables
        self._position = position
        self._size_bytes = size_bytes
        self._offsets = offsets

    def number(self, slot: int, code: str) -> int | float:
        """A scalar field by its struct code; 0 when it is absent."""
        offset = self._offsets[slot] if slot < len(self._offsets) else 0
        if offset == 0:
            return 0
        if offset < 4 or offset + struct.calcsize(f"<{code}") > self._size_bytes:
            raise ValueError("a field lies outside its table")
        number: int | float = struct.unpack_from(f"<{code}", self._tables.data, self._position + offset)[0]
        return number

    def choice(self, slot: int, members: Sequence[ItemT]) -> ItemT:
        """The member that a byte field stands for."""
        number = int(self.number(slot, "B"))
        if number >= len(members):
            raise ValueError(f"a choice among {len(members)} is {number}")
        return members[number]

    def text(self, slot: int) -> str:
        """A text field that must be there."""
        return self._tables.text_at(self._required(slot))

    def optional_text(self, slot: int) -> str | None:
        """A text field, or None when it is absent."""
        position = self._reference(slot)
        return None if position is None else self._tables.text_at(position)

    def table(self, slot: int) -> Table:
        """A table field that must be there."""
        return self._tables.table_at(self._required(slot))

    def optional_table(self, slot: int) -> Table | None:
        """A table field, or None when it is absent."""
        position = self._reference(slot)
        return None if position is None else self._tables.table_at(position)

    def tables(self, slot: int, read: Callable[[Table], ItemT]) -> tuple[ItemT, ...]:
        """What `read` makes of each table of a vector that must be there."""
        positions = self._tables.references_at(self._required(slot))
        return tuple(read(self._tables.table_at(position)) for position in positions)

    def texts(self, slot: int) -> tuple[str, ...]:
        """The texts of a vector that must be there."""
        positions = self._tables.references_at(self._required(slot))
        return tuple(map(self._tables.text_at, positions))

    def _reference(self, slot: int) -> int | None:
        if slot >= len(self._offsets) or self._offsets[slot] == 0:
            return None
        return self._position + self._offsets[slot] + int(self.number(slot, "I"))

    def _required(self, slot: int) -> int:
        position = self._reference(slot)
        if position is None:
            raise ValueError("a required field is missing")
        return position
