"""`Cursor`: the bounded reader of programs. Every byte is read here or in `FlatBufferReader`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from etconfig.errors import ProgramError
from etconfig.flatbuffer.layout import REFERENCE, U8, FieldKind
from etconfig.flatbuffer.reader import FlatBufferReader
from etconfig.program import program_errors
from etconfig.program.limits import Limits
from etconfig.program.program_errors import bad_index, limit_exceeded, locate, truncated

if TYPE_CHECKING:
    import numpy as np

_T = TypeVar("_T")

_ZEROS = 1 << 20
"""How much `is_zero` reads at a time, so that a large gap takes little memory."""


class Extent(NamedTuple):
    """A range of bytes of the file."""

    start: int
    size_bytes: int

    @property
    def end(self) -> int:
        """The position after the last byte."""
        return self.start + self.size_bytes


class Cursor(FlatBufferReader):
    """Reads the first `size_bytes` bytes of `data` as a part of a program, and nothing after them.

    In addition to what a FlatBufferReader does, it reads bytes outside of tables, and its errors say
    where they are: an error gains a region, such as `execution_plan[0].values[3].sizes`, on its way out.
    Every method raises a ProgramError if the bytes are not what they should be.

    `fetch(start, end)` brings bytes into `data` that may not be there yet, and returns where they end
    (see `etconfig.program.source`). `head`, `first` and `view` call it for the bytes that they return.
    `apart(start, end)` brings them into memory of their own, and `forget(start, end)` frees them; the
    methods of these names call them.
    """

    def __init__(
        self,
        data: memoryview,
        size_bytes: int,
        limits: Limits,
        fetch: Callable[[int, int], int] | None = None,
        apart: Callable[[int, int], tuple[memoryview, int]] | None = None,
        forget: Callable[[int, int], None] | None = None,
    ) -> None:
        super().__init__(
            data,
            size_bytes,
            program_errors,
            max_string_bytes=limits.max_string_bytes,
            max_work_per_byte=limits.max_work_per_byte,
        )
        self.limits = limits
        self._fetch = fetch
        self._apart = apart
        self._forget = forget

    def first(self, size_bytes: int) -> Cursor:
        """Return a cursor over fewer bytes, with a work budget of its own."""
        self._check_bounds(0, size_bytes, "")
        self._bring(Extent(0, size_bytes), "")
        return Cursor(self._data, size_bytes, self.limits)

    def forget(self, extent: Extent) -> None:
        """Free the memory of bytes to which there are no views; they are brought again when they are used."""
        if self._forget is not None:
            self._forget(extent.start, extent.end)

    def within(self, extent: Extent) -> Cursor:
        """Return a cursor over a part; its positions begin at 0, and its bytes are brought when used."""
        self._check_bounds(extent.start, extent.size_bytes, "")
        start, fetch, apart = extent.start, self._fetch, self._apart

        def fetch_part(first: int, end: int) -> int:
            assert fetch is not None
            return fetch(start + first, start + end) - start

        def part_apart(first: int, end: int) -> tuple[memoryview, int]:
            assert apart is not None
            data, here = apart(start + first, start + end)
            return data, here - start

        return Cursor(
            self._data[start : extent.end],
            extent.size_bytes,
            self.limits,
            fetch_part if fetch else None,
            part_apart if apart else None,
        )

    # --- bytes ---------------------------------------------------------------------------

    def head(self, size_bytes: int) -> bytes:
        """Return the first `size_bytes` bytes, or fewer if the file has fewer."""
        extent = Extent(0, min(size_bytes, self.size_bytes))
        self._bring(extent, "file")
        return bytes(self._data[: extent.end])

    def view(self, extent: Extent, field: str) -> memoryview:
        """Return the bytes of `extent` without a copy. They are not decoded, so nothing is charged."""
        self._check_bounds(extent.start, extent.size_bytes, field)
        self._bring(extent, field)
        return self._data[extent.start : extent.end]

    def apart(self, extent: Extent, field: str) -> memoryview:
        """Return the bytes of `extent` as `view`, if possible in memory that is freed with its last view."""
        if self._apart is None:
            return self.view(extent, field)
        self._check_bounds(extent.start, extent.size_bytes, field)
        data, end = self._apart(extent.start, extent.end)
        if end < extent.end:
            raise truncated(field, extent.start, extent.size_bytes, end - extent.start)
        return data

    def is_zero(self, extent: Extent) -> bool:
        """Return True if all bytes of `extent` are zero."""
        for start in range(extent.start, extent.end, _ZEROS):
            size_bytes = min(_ZEROS, extent.end - start)
            if bytes(self.view(Extent(start, size_bytes), "")).count(0) < size_bytes:
                return False
        return True

    def bytes_extent(self, position: int, field: str) -> Extent:
        """Return the extent of the vector of bytes at `position`, which are not read and not charged."""
        return Extent(*self._vector(position, U8, field))

    # --- tables and vectors --------------------------------------------------------------

    def at(self, position: int, field: str, read: Callable[[int], _T]) -> _T:
        """Read the table at `position` with `read`; an error in it gains `field` as its region."""
        try:
            return read(position)
        except ProgramError as error:
            locate(error, field, position)
            raise

    def each(self, position: int, field: str, read: Callable[[int], _T]) -> tuple[_T, ...]:
        """Read each table of the vector at `position` with `read`.

        An error gains `field[i]` as its region, and the table's position if it has no offset yet.
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

    def length(self, position: int, field: str, limit: int, limit_name: str) -> int:
        """Return the length of the vector of references at `position`, which is at most `limit`."""
        _, count = self._vector(position, REFERENCE, field)
        if count > limit:
            raise limit_exceeded(field, f"a vector of {count} elements", limit_name, limit, offset=position)
        return count

    def indices(
        self, position: int, kind: FieldKind, valid: range, field: str, target: str
    ) -> tuple[int, ...]:
        """Return the vector of numbers at `position`, each of which must be a `valid` index into `target`."""
        items = self.numbers(position, kind, field)
        if items and (min(items) < valid.start or max(items) >= valid.stop):
            at = next(i for i, item in enumerate(items) if item not in valid)
            offset = position + 4 + at * kind.size_bytes
            raise bad_index(f"{field}[{at}]", items[at], valid, target, offset)
        return items

    # --- reading in bulk -----------------------------------------------------------------

    def windows(self, size_bytes: int) -> np.ndarray[Any, Any]:
        """Return `size_bytes` bytes from each multiple of 4 on, as many as fit; they overlap. No copy."""
        import numpy as np

        count = max((self.size_bytes - size_bytes) // 4 + 1, 0)
        windows: np.ndarray[Any, Any] = np.ndarray(count, f"V{size_bytes}", self._data, strides=4)
        return windows

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undo all charges of the work inside if it ends in an exception.

        The caller then reads the same tables in another way, and must find the budget untouched.
        """
        work_left_bytes = self.work_left_bytes
        readers = {layout: dict(known) for layout, known in self._table_readers.items()}
        try:
            yield
        except BaseException:
            self.work_left_bytes = work_left_bytes
            self._table_readers = defaultdict(dict, readers)
            raise

    # --- fetching ------------------------------------------------------------------------

    def _bring(self, extent: Extent, field: str) -> None:
        """Ensure that the bytes are in memory: the file may have become shorter since it was opened."""
        end = extent.end if self._fetch is None else self._fetch(extent.start, extent.end)
        if end < extent.end:
            raise truncated(field, extent.start, extent.size_bytes, end - extent.start)
