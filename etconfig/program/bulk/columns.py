"""Many tables of one layout at once: each field a numpy column, all rows verified together.

A plan of thousands of values is read three to ten times as fast by columns as table by table. But
columns only ever say that all is well: whatever they doubt, they leave to the reader that goes table
by table, which decides and makes the error. So there is one place for each error, and both ways
read the same from a sound program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from etconfig.errors import ProgramError
from etconfig.flatbuffer.layout import I64, U8, FieldKind, Layout
from etconfig.program.bulk.shared_values import pick
from etconfig.program.cursor import Cursor

_T = TypeVar("_T")

if TYPE_CHECKING:
    import numpy as np

    Column: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
    """One number for each table."""

MIN_ROWS = 160
"""Fewer values than these are read faster one by one: they are of several types, each with its columns."""

MIN_LIKE_ROWS = 40
"""Of tables that are mostly alike, as instructions are, fewer than these."""

MIN_ROWS_TO_IMPORT_NUMPY = 30_000
"""So many take longer to read one by one than numpy takes to import."""

_MOST_GROUPS = 64
"""A writer makes one vtable for each set of fields that occurs, and few ranks occur."""

_LONGEST_BYTES = 1 << 31
"""A vector as long as this is no element of any numpy array."""

_MIXER = 6364136223846793005
"""It spreads numbers over 64 bits (Knuth's, for random numbers)."""

_DTYPES = {"?": "?", "b": "i1", "B": "u1", "i": "i4", "I": "i8", "q": "i8", "Q": "i8", "d": "f8"}
"""The type of a column by the struct code of its field. Unsigned ones are wide enough to count with."""


class DoubtError(Exception):
    """The columns cannot tell that all is well. It never leaves `etconfig.program`."""


def make_sure(condition: object) -> None:
    """DoubtError unless `condition` holds."""
    if not condition:
        raise DoubtError


@contextmanager
def columns_of(cursor: Cursor, row_count: int, *, are_alike: bool) -> Iterator[Columns]:
    """Columns over what `cursor` reads; the work inside counts only if there is no doubt.

    Raises:
        DoubtError: there was one inside, or there are too few rows for columns, or no numpy.
    """
    enough = MIN_LIKE_ROWS if are_alike else MIN_ROWS
    make_sure(row_count >= (enough if "numpy" in sys.modules else MIN_ROWS_TO_IMPORT_NUMPY))
    with cursor.attempt():
        try:
            yield Columns(cursor)
        except (ProgramError, ImportError) as error:
            raise DoubtError from error


class Columns:
    """Reads tables and vectors in bulk. Every method raises DoubtError if one is not what it should be."""

    def __init__(self, cursor: Cursor) -> None:
        import numpy

        self.numpy = numpy
        self._cursor = cursor
        words = cursor.windows(4)
        self._signed, self._unsigned = words.view("<i4"), words.view("<u4")

    def check(self, holds: Column) -> None:
        """DoubtError unless every number, or truth, differs from 0."""
        make_sure(self.numpy.count_nonzero(holds) == holds.size)

    def check_zero(self, numbers: Column) -> None:
        """DoubtError unless every number is 0."""
        make_sure(not self.numpy.count_nonzero(numbers))

    def table(self, positions: Column, layout: Layout) -> Sequence[Column]:
        """The fields of all tables at `positions`, as `Cursor.table` gives those of one."""
        self.check_zero(positions & 3)
        groups = [*self.groups(positions - _at(self._signed, positions))]
        if len(groups) == 1:
            return self._fields(positions, groups[0][0], layout)
        fields: Sequence[Column] = ()
        for vtable, rows in groups:
            found = self._fields(positions[rows], vtable, layout)
            fields = fields or [self.numpy.empty(len(positions), column.dtype) for column in found]
            for field, column in zip(fields, found, strict=True):
                field[rows] = column
        return fields

    def groups(self, numbers: Column) -> Iterator[tuple[int, Any]]:
        """Each number that occurs, and an index of the rows that have it."""
        rows: Any = slice(None)
        for _ in range(_MOST_GROUPS):
            differs = numbers != numbers[0]
            others = differs.nonzero()[0]
            if not len(others):
                yield int(numbers[0]), rows
                return
            same = (~differs).nonzero()[0]
            is_first = isinstance(rows, slice)
            yield int(numbers[0]), same if is_first else rows[same]
            numbers, rows = numbers[others], others if is_first else rows[others]
        raise DoubtError

    def _fields(self, tables: Column, vtable: int, layout: Layout) -> list[Column]:
        """The fields of tables that share one vtable."""
        reader = self._cursor.table_reader(vtable, layout)
        if reader.alignment_mask != 3:
            self.check(tables & reader.alignment_mask == reader.alignment)
        self._cursor.charge(reader.size_bytes * len(tables), "")
        whole = _at(self._cursor.windows(reader.size_bytes), tables)
        fields = []
        for offset, field in zip(reader.offsets, layout.fields, strict=True):
            if not offset:
                fields.append(self.numpy.zeros(len(tables), _DTYPES[field.kind.code]))
                continue
            found = self._numbers(whole, field.kind, offset)
            if field.kind.is_reference:
                self.check(found)
                found = found + (tables + offset)
            fields.append(found)
        return fields

    def _numbers(self, whole: Column, kind: FieldKind, offset: int) -> Column:
        """The numbers at `offset` in each element of `whole`."""
        if kind.code == "?":
            truths: Column = self._numbers(whole, U8, offset) != 0
            return truths
        if kind.code == "Q":
            large = self._numbers(whole, I64, offset)
            self.check(large >= 0)
            return large
        found: Column = whole.getfield(f"<{kind.code}", offset)
        return found.astype("i8") if kind.code == "I" else found

    def references(self, position: int, count: int) -> Column:
        """Where the `count` references of the vector at `position` lead, as `Cursor.references`."""
        self._cursor.charge(4 + 4 * count, "")
        places = self.numpy.arange(position + 4, position + 4 + 4 * count, 4)
        offsets = _at(self._unsigned, places)
        self.check(offsets)
        return offsets + places

    def vectors(self, positions: Column, kind: FieldKind) -> Vectors:
        """The vectors of numbers at `positions`, as `Cursor.numbers` gives one."""
        size_bytes = kind.size_bytes
        self.check(positions)
        self.check_zero(positions & 3)
        counts = _at(self._unsigned, positions).astype("i8")
        starts = positions + 4
        self.check(starts + counts * size_bytes <= self._cursor.size_bytes)
        if size_bytes == 8:
            self.check((starts & 7 == 0) | (counts == 0))
        self._cursor.charge(4 * len(positions) + int(counts.sum()) * size_bytes, "")
        return Vectors(
            counts,
            [(rows, self._elements(starts[rows], length, kind)) for length, rows in self.groups(counts)],
        )

    def distinct(self, columns: Sequence[Column]) -> tuple[Column, Column]:
        """Which rows differ: the first of each kind; and for each row the kind that it is of."""
        numpy = self.numpy
        varying = [column for column in columns if numpy.count_nonzero(column != column[0])]
        if not varying:
            return numpy.zeros(1, "i8"), numpy.zeros(len(columns[0]), "i8")
        mixed = varying[0].astype("i8")
        for column in varying[1:]:
            mixed = mixed * _MIXER + column  # modulo 2**64
        _, firsts, kinds = numpy.unique(mixed, return_index=True, return_inverse=True)
        for column in varying:
            self.check(column == column[firsts][kinds])  # which a mixture alone does not tell
        return firsts, kinds

    def _elements(self, starts: Column, length: int, kind: FieldKind) -> Column:
        """The elements of vectors of one length, of shape (rows, length)."""
        size_bytes = length * kind.size_bytes
        if not size_bytes:
            return self.numpy.zeros((len(starts), 0), kind.code)
        make_sure(size_bytes < _LONGEST_BYTES)
        return _at(self._cursor.windows(size_bytes), starts).view(f"<{kind.code}").reshape(-1, length)


class Vectors:
    """The vectors of one column.

    Attributes:
        counts: How many elements each has.
        by_length: The rows of each length that occurs, and their elements, of shape (rows, length).
    """

    def __init__(self, counts: Column, by_length: Sequence[tuple[Any, Column]]) -> None:
        self.counts = counts
        self.by_length = by_length

    def padded(self) -> Column:
        """All elements, of shape (rows, greatest length), with zeros where there are none."""
        if len(self.by_length) == 1:
            return self.by_length[0][1]
        import numpy

        width = max(elements.shape[1] for _, elements in self.by_length)
        padded = numpy.zeros((len(self.counts), width), self.by_length[0][1].dtype)
        for rows, elements in self.by_length:
            padded[rows, : elements.shape[1]] = elements
        return padded

    def tuples(self) -> Sequence[tuple[Any, ...]]:
        """The elements of each row."""
        return in_order([(rows, _tuples(elements)) for rows, elements in self.by_length])


def in_order(parts: Sequence[tuple[Any, list[_T]]]) -> Sequence[_T]:
    """What belongs to all rows, in their order, from what belongs to each part of the rows."""
    if len(parts) == 1:
        return parts[0][1]
    import numpy

    rows = numpy.concatenate([rows for rows, _ in parts])
    places = numpy.empty_like(rows)
    places[rows] = numpy.arange(len(rows))
    return pick(places.tolist(), [*chain.from_iterable(part for _, part in parts)])


def _tuples(elements: Column) -> list[tuple[Any, ...]]:
    """Rows as tuples; where all are equal, as dim orders of one rank mostly are, one tuple serves all."""
    first = elements[:1]
    if (elements == first).all():
        return [*map(tuple, first.tolist())] * len(elements)
    return [*zip(*elements.T.tolist(), strict=True)]


def _at(array: Column, positions: Column) -> Column:
    """The elements of `array`, which begin 4 bytes apart, at `positions`, which are multiples of 4.

    Raises:
        DoubtError: there are no such elements.
    """
    try:
        found: Column = array[positions >> 2]
    except IndexError:
        raise DoubtError from None
    return found
