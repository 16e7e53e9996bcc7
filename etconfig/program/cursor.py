"""The one bounded cursor: every byte of a program is read here, and nowhere else.

Nothing is trusted: each read checks bounds, alignment and the work budget before it touches a
byte. A table is read whole, with one compiled `struct` for each distinct vtable.
Source: the FlatBuffers binary format, https://flatbuffers.dev/internals.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from etconfig.errors import ProgramError
from etconfig.program.layout import BOOLEAN, F64, I32, I64, REFERENCE, U8, U32, U64, FieldKind, Layout
from etconfig.program.limits import Limits
from etconfig.program.program_errors import (
    bad_index,
    limit_exceeded,
    locate,
    malformed,
    missing_field,
    truncated,
)
from etconfig.program.table_reader import TableReader, compile_table_reader

if TYPE_CHECKING:
    import numpy as np

_T = TypeVar("_T")

_U16_PAIR = struct.Struct("<HH")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_U64 = struct.Struct("<Q")

_VTABLE_WORK_BYTES = 64
"""What compiling a vtable counts as: it takes about as long as decoding this many bytes."""

_ZEROS = 1 << 20
"""How many bytes are compared with zero at once."""

_SHORT_VECTOR = 8
_SHORT_VECTORS = {
    kind.code: [struct.Struct(f"<{count}{kind.code}").unpack_from for count in range(_SHORT_VECTOR)]
    for kind in (BOOLEAN, U8, I32, U32, I64, U64, F64)
}
"""Most vectors hold a tensor's sizes or a call's arguments."""


class Extent(NamedTuple):
    """A range of bytes of the file."""

    start: int
    size_bytes: int

    @property
    def end(self) -> int:
        """The position after the last byte."""
        return self.start + self.size_bytes


class Cursor:
    """Reads the first `size_bytes` bytes of `data`, and nothing after them.

    Positions are absolute. A `field` names what is read: it becomes the region of an error.
    Every method raises a ProgramError if the bytes are not what they should be.

    `fetch(start, end)` brings bytes into `data` that may not be there yet, and says where they end
    (see `etconfig.program.source`); `head`, `first` and `view` call it for what they give.
    """

    def __init__(
        self,
        data: memoryview,
        size_bytes: int,
        limits: Limits,
        fetch: Callable[[int, int], int] | None = None,
    ) -> None:
        self.size_bytes = size_bytes
        self._fetch = fetch
        self.limits = limits
        self.work_left_bytes = limits.max_work_per_byte * size_bytes
        self._data = data
        self._table_readers: defaultdict[Layout, dict[int, TableReader]] = defaultdict(dict)

    def first(self, size_bytes: int) -> Cursor:
        """A cursor over fewer bytes, with a work budget of its own."""
        self._check_bounds(0, size_bytes, "")
        self._bring(Extent(0, size_bytes), "")
        return Cursor(self._data, size_bytes, self.limits)

    # --- plain reads ---------------------------------------------------------------------

    def u32(self, position: int, field: str) -> int:
        """An unsigned 32-bit integer."""
        self._check_bounds(position, 4, field)
        value: int = _U32.unpack_from(self._data, position)[0]
        return value

    def u64(self, position: int, field: str) -> int:
        """An unsigned 64-bit integer."""
        self._check_bounds(position, 8, field)
        value: int = _U64.unpack_from(self._data, position)[0]
        return value

    def head(self, size_bytes: int) -> bytes:
        """The first bytes, as many of them as there are."""
        extent = Extent(0, min(size_bytes, self.size_bytes))
        self._bring(extent, "")
        return bytes(self._data[: extent.end])

    def view(self, extent: Extent, field: str) -> memoryview:
        """The bytes of `extent`, without a copy. They are not decoded, so they count as no work."""
        self._check_bounds(extent.start, extent.size_bytes, field)
        self._bring(extent, field)
        return self._data[extent.start : extent.end]

    def is_zero(self, extent: Extent) -> bool:
        """Whether all bytes of `extent` are zero."""
        for start in range(extent.start, extent.end, _ZEROS):
            size_bytes = min(_ZEROS, extent.end - start)
            if bytes(self.view(Extent(start, size_bytes), "")).count(0) < size_bytes:
                return False
        return True

    # --- tables --------------------------------------------------------------------------

    def root(self) -> int:
        """The position of the root table."""
        position = self.u32(0, "root")
        if position < 8:
            detail = f"the offset {position} leads into the file's identifier"
            raise malformed("bad-offset", "root", detail, offset=0)
        return position

    def table(self, position: int, layout: Layout) -> Sequence[Any]:
        """The fields of the table at `position`, in the layout's order, without those it skips.

        An absent field reads as its default, a reference as the position that it leads to,
        an absent reference as 0.
        """
        if position + 4 > self.size_bytes:
            raise truncated("", position, 4, self.size_bytes - position)
        vtable = position - _I32.unpack_from(self._data, position)[0]
        reader = self._table_readers[layout].get(vtable) or self.table_reader(vtable, layout)
        size_bytes, mask, alignment, unpack_from, pick, references, _ = reader
        if position + size_bytes > self.size_bytes:
            raise truncated("", position, size_bytes, self.size_bytes - position)
        if position & mask != alignment:
            raise malformed("misaligned", "", "the table is not aligned to its fields", offset=position)
        self.work_left_bytes -= size_bytes
        if self.work_left_bytes < 0:
            raise self._too_much_work("")
        fields = unpack_from(self._data, position)
        if pick is not None:
            fields = pick(fields)
        if not references:
            return fields
        resolved = [*fields]
        for index, offset, name in references:
            if not resolved[index]:
                raise malformed("bad-offset", name, "the offset is 0", offset=position + offset)
            resolved[index] += position + offset
        return resolved

    def field_position(self, position: int, layout: Layout, name: str) -> int:
        """Where the field `name` of the table at `position` lies; the position itself if it is absent."""
        vtable = position - _I32.unpack_from(self._data, position)[0]
        index = [field.name for field in layout.fields].index(name)
        return position + self.table_reader(vtable, layout).offsets[index]

    def table_reader(self, vtable: int, layout: Layout) -> TableReader:
        """How to read the tables of `layout` that share the vtable at `vtable`."""
        reader = self._table_readers[layout].get(vtable)
        if reader is None:
            reader = self._table_readers[layout][vtable] = self._compile_table_reader(vtable, layout)
        return reader

    def _compile_table_reader(self, vtable: int, layout: Layout) -> TableReader:
        """Check and compile the vtable; the work is bounded by the layout's length."""
        self.charge(_VTABLE_WORK_BYTES, "vtable")
        if vtable < 0 or vtable % 2:
            raise malformed("bad-vtable", "vtable", f"its position {vtable} is impossible")
        self._check_bounds(vtable, 4, "vtable")
        vtable_bytes, table_bytes = _U16_PAIR.unpack_from(self._data, vtable)
        if vtable_bytes < 4 or vtable_bytes % 2 or table_bytes < 4:
            detail = f"it claims {vtable_bytes} bytes for itself and {table_bytes} for its table"
            raise malformed("bad-vtable", "vtable", detail, offset=vtable)
        self._check_bounds(vtable, vtable_bytes, "vtable")
        slots = min(layout.slot_count, vtable_bytes // 2 - 2)
        offsets = struct.unpack_from(f"<{slots}H", self._data, vtable + 4)
        try:
            return compile_table_reader(layout, offsets, table_bytes)
        except ProgramError as error:
            locate(error, offset=vtable)
            raise

    # --- vectors and strings -------------------------------------------------------------

    def length(self, position: int, field: str, limit: int, limit_name: str) -> int:
        """How many elements the vector of references at `position` has: at most `limit`."""
        _, count = self._vector(position, REFERENCE, field)
        if count > limit:
            raise limit_exceeded(field, f"a vector of {count} elements", limit_name, limit, offset=position)
        return count

    def numbers(self, position: int, kind: FieldKind, field: str) -> tuple[Any, ...]:
        """The vector of numbers at `position`."""
        start, count = self._vector(position, kind, field)
        self.work_left_bytes -= count * kind.size_bytes
        if self.work_left_bytes < 0:
            raise self._too_much_work(field)
        if count < _SHORT_VECTOR:
            return _SHORT_VECTORS[kind.code][count](self._data, start)
        return struct.unpack_from(f"<{count}{kind.code}", self._data, start)

    def indices(
        self, position: int, kind: FieldKind, valid: range, field: str, target: str
    ) -> tuple[int, ...]:
        """The vector of numbers at `position`, each of which must be a `valid` index into `target`."""
        items = self.numbers(position, kind, field)
        if items and (min(items) < valid.start or max(items) >= valid.stop):
            at = next(i for i, item in enumerate(items) if item not in valid)
            offset = position + 4 + at * kind.size_bytes
            raise bad_index(f"{field}[{at}]", items[at], valid, target, offset)
        return items

    def references(self, position: int, field: str) -> tuple[int, ...]:
        """The positions that the vector of references at `position` leads to."""
        offsets = self.numbers(position, REFERENCE, field)
        start = position + 4
        if 0 in offsets:
            at = offsets.index(0)
            raise malformed("bad-offset", f"{field}[{at}]", "the offset is 0", offset=start + 4 * at)
        return tuple(map(add, offsets, range(start, start + 4 * len(offsets), 4)))

    def at(self, position: int, field: str, read: Callable[[int], _T]) -> _T:
        """What `read` makes of the table at `position`; an error in it gains `field` as its region."""
        try:
            return read(position)
        except ProgramError as error:
            locate(error, field, position)
            raise

    def each(self, position: int, field: str, read: Callable[[int], _T]) -> tuple[_T, ...]:
        """What `read` makes of each table of the vector at `position`.

        An error in it gains `field[i]` as its region, and the table's position if it has no offset yet.
        """
        positions = self.references(position, field)
        items: list[_T] = []
        try:
            for table in positions:
                items.append(read(table))
        except ProgramError as error:
            index = len(items)
            locate(error, f"{field}[{index}]", positions[index])
            raise
        return tuple(items)

    def string(self, position: int, field: str) -> str:
        """The string at `position`."""
        start, size_bytes = self._vector(position, U8, field)
        limit = self.limits.max_string_bytes
        if size_bytes > limit:
            found = f"a string of {size_bytes} bytes"
            raise limit_exceeded(field, found, "max_string_bytes", limit, offset=position)
        self.charge(size_bytes, field)
        self._check_bounds(start, size_bytes + 1, field)
        if self._data[start + size_bytes] != 0:
            raise malformed("bad-string", field, "no zero byte ends the string", offset=position)
        try:
            return str(self._data[start : start + size_bytes], "utf-8")
        except UnicodeDecodeError as error:
            detail = f"the string is not UTF-8: {error.reason}"
            raise malformed("bad-string", field, detail, offset=start + error.start) from None

    def bytes_copy(self, position: int, field: str) -> bytes:
        """The vector of bytes at `position`."""
        start, size_bytes = self._vector(position, U8, field)
        self.charge(size_bytes, field)
        return bytes(self._data[start : start + size_bytes])

    def bytes_extent(self, position: int, field: str) -> Extent:
        """Where the vector of bytes at `position` lies. They are not read, so they count as no work."""
        return Extent(*self._vector(position, U8, field))

    def _vector(self, position: int, kind: FieldKind, field: str) -> tuple[int, int]:
        """Where the elements of the vector at `position` start, and how many there are."""
        if not position:
            raise missing_field(field)
        start = position + 4
        if start > self.size_bytes:
            raise truncated(field, position, 4, self.size_bytes - position)
        count = _U32.unpack_from(self._data, position)[0]
        element_bytes = kind.size_bytes
        if start + count * element_bytes > self.size_bytes:
            raise truncated(field, start, count * element_bytes, self.size_bytes - start)
        if position % 4 or (count and start % element_bytes):  # flatc does not align what is not there
            raise malformed("misaligned", field, "the vector is not aligned to its elements", offset=position)
        self.work_left_bytes -= 4  # the elements count where they are decoded
        return start, count

    # --- reading in bulk -----------------------------------------------------------------

    def windows(self, size_bytes: int) -> np.ndarray[Any, Any]:
        """The `size_bytes` bytes from each multiple of 4 on, as many as fit; they overlap. No copy."""
        import numpy as np

        count = max((self.size_bytes - size_bytes) // 4 + 1, 0)
        windows: np.ndarray[Any, Any] = np.ndarray(count, f"V{size_bytes}", self._data, strides=4)
        return windows

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Let what is read inside cost nothing if it ends in an exception."""
        work_left_bytes = self.work_left_bytes
        readers = {layout: dict(known) for layout, known in self._table_readers.items()}
        try:
            yield
        except BaseException:
            self.work_left_bytes = work_left_bytes
            self._table_readers = defaultdict(dict, readers)
            raise

    # --- checks --------------------------------------------------------------------------

    def _check_bounds(self, position: int, size_bytes: int, field: str) -> None:
        if position + size_bytes > self.size_bytes:
            raise truncated(field, position, size_bytes, self.size_bytes - position)

    def _bring(self, extent: Extent, field: str) -> None:
        """See to it that the bytes are in memory: the file may have become shorter since it was opened."""
        end = extent.end if self._fetch is None else self._fetch(extent.start, extent.end)
        if end < extent.end:
            raise truncated(field, extent.start, extent.size_bytes, end - extent.start)

    def charge(self, work_bytes: int, field: str) -> None:
        """Count work, before it is done."""
        self.work_left_bytes -= work_bytes
        if self.work_left_bytes < 0:
            raise self._too_much_work(field)

    def _too_much_work(self, field: str) -> ProgramError:
        limit = self.limits.max_work_per_byte
        found = "the number of bytes to decode for each byte of the program"
        return limit_exceeded(field, found, "max_work_per_byte", limit)
