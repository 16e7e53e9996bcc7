"""`FlatBufferReader`: tables, vectors and strings of a buffer whose bytes may be anything.

Nothing is trusted: each read checks bounds, alignment and the work budget before it touches a
byte. A table is read whole, with one compiled `struct` for each distinct vtable.
Source: the FlatBuffers binary format, https://flatbuffers.dev/internals.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Sequence
from operator import add
from typing import Any, Protocol

from etconfig.flatbuffer.layout import (
    BOOLEAN,
    F64,
    I32,
    I64,
    REFERENCE,
    U8,
    U32,
    U64,
    FieldKind,
    Layout,
    StructLayout,
)
from etconfig.flatbuffer.table_reader import TableReader, VtableError, compile_table_reader

_U16_PAIR = struct.Struct("<HH")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_U64 = struct.Struct("<Q")

_VTABLE_WORK_BYTES = 64
"""The charge for compiling a vtable, which takes about as long as decoding this many bytes."""

_SHORT_VECTOR = 8
_SHORT_VECTORS = {
    kind.code: [struct.Struct(f"<{count}{kind.code}").unpack_from for count in range(_SHORT_VECTOR)]
    for kind in (BOOLEAN, U8, I32, U32, I64, U64, F64)
}
"""Compiled once for short vectors, which most are: a tensor's sizes, or a call's arguments."""


class ReadErrors(Protocol):
    """The exceptions that a reader raises. A module with these functions will do."""

    def truncated(self, field: str, offset: int, needed_bytes: int, available_bytes: int, /) -> Exception:
        """`field`, at `offset`, takes more bytes than are left there."""

    def malformed(self, code: str, field: str, detail: str, /, *, offset: int | None = None) -> Exception:
        """The bytes contradict the format; `code` names the kind of contradiction."""

    def undecodable(self, field: str, reason: str, offset: int, /) -> Exception:
        """A string is not UTF-8."""

    def missing_field(self, field: str, /) -> Exception:
        """A required field is absent."""

    def string_too_long(self, field: str, offset: int, size_bytes: int, limit: int, /) -> Exception:
        """A string has more than `max_string_bytes` bytes."""

    def too_much_work(self, field: str, limit: int, /) -> Exception:
        """More than `max_work_per_byte` bytes would be decoded for each byte of the buffer."""


class FlatBufferReader:
    """Reads the first `size_bytes` bytes of `data`, and nothing after them.

    Positions are absolute. The argument `field` of a method names what is read, for errors. Every method
    raises what `errors` makes if the bytes are not what they should be.

    Attributes:
        size_bytes: The size of the buffer.
        work_left_bytes: The work that may still be done. In a sound buffer nothing is decoded twice; in a
            damaged one, where many references may lead to one table, this keeps time and memory in
            proportion to the size.
    """

    def __init__(
        self,
        data: memoryview,
        size_bytes: int,
        errors: ReadErrors,
        *,
        max_string_bytes: int,
        max_work_per_byte: int,
    ) -> None:
        """Take a buffer and its bounds.

        Args:
            data: The bytes.
            size_bytes: The number of bytes that belong to the buffer.
            errors: Makes the exceptions.
            max_string_bytes: The longest string, in bytes of UTF-8.
            max_work_per_byte: The bytes that may be decoded for each byte of the buffer.
        """
        self.size_bytes = size_bytes
        self.work_left_bytes = max_work_per_byte * size_bytes
        self._data = data
        self._errors = errors
        self._max_string_bytes = max_string_bytes
        self._max_work_per_byte = max_work_per_byte
        self._table_readers: defaultdict[Layout, dict[int, TableReader]] = defaultdict(dict)

    # --- numbers -------------------------------------------------------------------------

    def u32(self, position: int, field: str) -> int:
        """Return an unsigned 32-bit integer."""
        self._check_bounds(position, 4, field)
        value: int = _U32.unpack_from(self._data, position)[0]
        return value

    def u64(self, position: int, field: str) -> int:
        """Return an unsigned 64-bit integer."""
        self._check_bounds(position, 8, field)
        value: int = _U64.unpack_from(self._data, position)[0]
        return value

    # --- tables --------------------------------------------------------------------------

    def root(self) -> int:
        """Return the position of the root table."""
        position = self.u32(0, "root")
        if position < 8:
            detail = f"the offset {position} leads into the file's identifier"
            raise self._errors.malformed("bad-offset", "root", detail, offset=0)
        return position

    def table(self, position: int, layout: Layout) -> Sequence[Any]:
        """Return the fields of the table at `position`, in the layout's order, without those it skips.

        An absent field reads as its default, a reference as the position that it leads to,
        an absent reference as 0.
        """
        if position + 4 > self.size_bytes:
            raise self._errors.truncated("", position, 4, self.size_bytes - position)
        vtable = position - _I32.unpack_from(self._data, position)[0]
        # The bytes never change, so a vtable that was checked once need not be checked for the next table.
        reader = self._table_readers[layout].get(vtable) or self.table_reader(vtable, layout)
        size_bytes, mask, alignment, unpack_from, defaults, pick, references, _ = reader
        if position + size_bytes > self.size_bytes:
            raise self._errors.truncated("", position, size_bytes, self.size_bytes - position)
        if position & mask != alignment:
            detail = "the table is not aligned to its fields"
            raise self._errors.malformed("misaligned", "", detail, offset=position)
        self.work_left_bytes -= size_bytes
        if self.work_left_bytes < 0:
            raise self._too_much_work("")
        fields = unpack_from(self._data, position) + defaults
        if pick is not None:
            fields = pick(fields)
        if not references:
            return fields
        resolved = [*fields]
        for index, offset, name in references:
            # offsets are unsigned, so references lead forward only; 0 would lead to itself
            if not resolved[index]:
                raise self._errors.malformed("bad-offset", name, "the offset is 0", offset=position + offset)
            resolved[index] += position + offset
        return resolved

    def field_position(self, position: int, layout: Layout, name: str) -> int:
        """Return the position of a field of the table at `position`, or `position` if it is absent."""
        vtable = position - _I32.unpack_from(self._data, position)[0]
        index = [field.name for field in layout.fields].index(name)
        return position + self.table_reader(vtable, layout).offsets[index]

    def table_reader(self, vtable: int, layout: Layout) -> TableReader:
        """Return the reader of the tables of `layout` that share the vtable at `vtable`."""
        reader = self._table_readers[layout].get(vtable)
        if reader is not None:
            return reader
        # check and compile the vtable; the work is bounded by the layout's length
        self.charge(_VTABLE_WORK_BYTES, "vtable")
        if vtable < 0 or vtable % 2:
            raise self._errors.malformed("bad-vtable", "vtable", f"its position {vtable} is impossible")
        self._check_bounds(vtable, 4, "vtable")
        vtable_bytes, table_bytes = _U16_PAIR.unpack_from(self._data, vtable)
        if vtable_bytes < 4 or vtable_bytes % 2 or table_bytes < 4:
            detail = f"it claims {vtable_bytes} bytes for itself and {table_bytes} for its table"
            raise self._errors.malformed("bad-vtable", "vtable", detail, offset=vtable)
        self._check_bounds(vtable, vtable_bytes, "vtable")
        slots = min(layout.slot_count, vtable_bytes // 2 - 2)
        offsets = struct.unpack_from(f"<{slots}H", self._data, vtable + 4)
        try:
            reader = compile_table_reader(layout, offsets, table_bytes)
        except VtableError as error:
            raise self._errors.malformed(error.code, error.field, error.detail, offset=vtable) from None
        self._table_readers[layout][vtable] = reader
        return reader

    # --- vectors and strings -------------------------------------------------------------

    def numbers(self, position: int, kind: FieldKind, field: str) -> tuple[Any, ...]:
        """Return the vector of numbers at `position`."""
        start, count = self._vector(position, kind, field)
        self.work_left_bytes -= count * kind.size_bytes
        if self.work_left_bytes < 0:
            raise self._too_much_work(field)
        if count < _SHORT_VECTOR:
            return _SHORT_VECTORS[kind.code][count](self._data, start)
        return struct.unpack_from(f"<{count}{kind.code}", self._data, start)

    def structs(self, position: int, layout: StructLayout, field: str) -> list[tuple[Any, ...]]:
        """Return the vector of structs at `position`, each as the values of its fields."""
        start, count = self._vector(position, layout, field, layout.alignment)
        self.charge(count * layout.size_bytes, field)
        return list(layout.packed.iter_unpack(self._data[start : start + count * layout.size_bytes]))

    def references(self, position: int, field: str) -> tuple[int, ...]:
        """Return the positions that the vector of references at `position` leads to."""
        offsets = self.numbers(position, REFERENCE, field)
        start = position + 4
        if 0 in offsets:
            at = offsets.index(0)
            raise self._errors.malformed(
                "bad-offset", f"{field}[{at}]", "the offset is 0", offset=start + 4 * at
            )
        return tuple(map(add, offsets, range(start, start + 4 * len(offsets), 4)))

    def string(self, position: int, field: str) -> str:
        """Return the string at `position`."""
        start, size_bytes = self._vector(position, U8, field)
        limit = self._max_string_bytes
        if size_bytes > limit:
            raise self._errors.string_too_long(field, position, size_bytes, limit)
        self.charge(size_bytes, field)
        self._check_bounds(start, size_bytes + 1, field)
        if self._data[start + size_bytes] != 0:
            detail = "no zero byte ends the string"
            raise self._errors.malformed("bad-string", field, detail, offset=position)
        try:
            return str(self._data[start : start + size_bytes], "utf-8")
        except UnicodeDecodeError as error:
            raise self._errors.undecodable(field, error.reason, start + error.start) from None

    def bytes_copy(self, position: int, field: str) -> bytes:
        """Return the vector of bytes at `position`."""
        start, size_bytes = self._vector(position, U8, field)
        self.charge(size_bytes, field)
        return bytes(self._data[start : start + size_bytes])

    def _vector(
        self, position: int, element: FieldKind | StructLayout, field: str, alignment: int = 0
    ) -> tuple[int, int]:
        """Return where the elements of the vector at `position` start, and their number.

        Elements are aligned to `alignment`, by default to their size.
        """
        if not position:
            raise self._errors.missing_field(field)
        start = position + 4
        if start > self.size_bytes:
            raise self._errors.truncated(field, position, 4, self.size_bytes - position)
        count = _U32.unpack_from(self._data, position)[0]  # anything up to 2**32: nothing is allocated for it
        element_bytes = element.size_bytes
        if start + count * element_bytes > self.size_bytes:
            raise self._errors.truncated(field, start, count * element_bytes, self.size_bytes - start)
        if position % 4 or (
            count and start % (alignment or element_bytes)
        ):  # flatc does not align what is not there
            detail = "the vector is not aligned to its elements"
            raise self._errors.malformed("misaligned", field, detail, offset=position)
        self.work_left_bytes -= 4  # the length; the elements are charged where they are decoded
        return start, count

    # --- checks --------------------------------------------------------------------------

    def charge(self, work_bytes: int, field: str) -> None:
        """Count work before doing it, so that a hostile file is refused instead of decoded."""
        self.work_left_bytes -= work_bytes
        if self.work_left_bytes < 0:
            raise self._too_much_work(field)

    def _check_bounds(self, position: int, size_bytes: int, field: str) -> None:
        if position + size_bytes > self.size_bytes:
            raise self._errors.truncated(field, position, size_bytes, self.size_bytes - position)

    def _too_much_work(self, field: str) -> Exception:
        return self._errors.too_much_work(field, self._max_work_per_byte)
