"""A writer of FlatBuffers, as small as ETDump and `.etargs` files need.

A buffer is written from its end to its beginning, so that a table refers to what is there already.
Places are therefore counted from the end. Source: FlatBuffers' page on internals, flatbuffers.dev/internals.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NewType, TypeAlias

from etconfig.records import record

Place = NewType("Place", int)
"""Where something begins, in bytes before the end of the buffer."""

Scalar: TypeAlias = "tuple[str, int | float]"
"""A struct code such as `i`, `Q` or `d`, and the number."""

Fields: TypeAlias = "Mapping[int, Place | Scalar | None]"
"""The fields of a table by slot, in the order of the schema; None is left out."""

_REFERENCE = "I"
_LARGEST_ALIGNMENT = 8


class _Layout(NamedTuple):
    """How the fields of a table with these slots and codes lie.

    Attributes:
        table: The struct of the table: the offset of its vtable, then the fields.
        order: The slots in that order.
        offsets: Where each begins in the table.
        vtable: The bytes of the vtable.
    """

    table: struct.Struct
    order: tuple[int, ...]
    offsets: tuple[int, ...]
    vtable: bytes


@record(frozen=True)
class _Written:
    """What was written before and can be referred to again."""

    strings: dict[str, Place]
    vtables: dict[bytes, Place]
    layouts: dict[tuple[tuple[int, str], ...], _Layout]


class FlatBufferWriter:
    """Writes one buffer: children first, then the tables that refer to them, then `finish`."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._written = _Written({}, {}, {})

    def string(self, text: str) -> Place:
        """A string; the same text is written once."""
        place = self._written.strings.get(text)
        if place is None:
            data = text.encode()
            self._prepend(struct.pack("<I", len(data)) + data + b"\0", 4)
            place = self._written.strings[text] = Place(self._size)
        return place

    def byte_vector(self, data: bytes, alignment: int = 4) -> Place:
        """A vector of bytes, which lie at a multiple of `alignment` from the end of the buffer."""
        self._prepend(data, alignment)
        self._prepend(struct.pack("<I", len(data)), 4)
        return Place(self._size)

    def reference_vector(self, places: Sequence[Place]) -> Place:
        """A vector of tables or strings."""
        end = self._size + -self._size % 4
        offsets = [end + 4 * (len(places) - index) - place for index, place in enumerate(places)]
        self._prepend(struct.pack(f"<I{len(offsets)}I", len(offsets), *offsets), 4)
        return Place(self._size)

    def table(self, fields: Fields) -> Place:
        """A table."""
        given = {slot: value for slot, value in fields.items() if value is not None}
        layout = self._layout(given)
        start = self._start_of(layout.table.size)
        known = self._written.vtables.get(layout.vtable)
        vtable = Place(start + len(layout.vtable)) if known is None else known
        values = [
            value[1] if isinstance(value, tuple) else start - offset - value
            for value, offset in ((given[slot], layout.offsets[i]) for i, slot in enumerate(layout.order))
        ]
        self._prepend(layout.table.pack(vtable - start, *values), _LARGEST_ALIGNMENT)
        if known is None:
            self._prepend(layout.vtable, 2)
            self._written.vtables[layout.vtable] = vtable
        return Place(start)

    def finish(self, root: Place, identifier: bytes, *, with_size: bool = False) -> bytes:
        """The whole buffer, with the four bytes that identify the schema, and on demand its size in front."""
        head_bytes = 12 if with_size else 8
        padding = -(self._size + head_bytes) % _LARGEST_ALIGNMENT
        content_bytes = self._size + padding + 8
        head = struct.pack("<I4s", content_bytes - root, identifier)
        size = struct.pack("<I", content_bytes) if with_size else b""
        return b"".join([size, head, bytes(padding), *reversed(self._pieces)])

    def _start_of(self, size: int) -> int:
        """Where a table of `size` bytes will begin."""
        return self._size + size + -(self._size + size) % _LARGEST_ALIGNMENT

    def _prepend(self, data: bytes, alignment: int) -> None:
        padding = -(self._size + len(data)) % alignment
        self._pieces += [bytes(padding), data]
        self._size += padding + len(data)

    def _layout(self, given: Mapping[int, Place | Scalar]) -> _Layout:
        key = tuple(
            (slot, value[0] if isinstance(value, tuple) else _REFERENCE) for slot, value in given.items()
        )
        layout = self._written.layouts.get(key)
        if layout is None:
            layout = self._written.layouts[key] = _lay_out(key)
        return layout


def _lay_out(fields: Sequence[tuple[int, str]]) -> _Layout:
    """The fields after the vtable's offset, the smallest first, each aligned to its size."""
    codes, order, offsets = "<i", [], []
    for slot, code in sorted(fields, key=lambda field: struct.calcsize(field[1])):
        size = struct.calcsize(f"<{code}")
        codes += f"{-struct.calcsize(codes) % size}x"
        offsets.append(struct.calcsize(codes))
        order.append(slot)
        codes += code
    table = struct.Struct(codes)
    in_vtable = [0] * (max(order, default=-1) + 1)
    for slot, offset in zip(order, offsets, strict=True):
        in_vtable[slot] = offset
    vtable_bytes = 4 + 2 * len(in_vtable)
    vtable = struct.pack(f"<HH{len(in_vtable)}H", vtable_bytes, table.size, *in_vtable)
    return _Layout(table, tuple(order), tuple(offsets), vtable)
