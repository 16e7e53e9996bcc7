"""`Columns`: many tables of one layout at once, each field a numpy column, all rows verified together.

Reading by columns is three to ten times as fast as table by table for a plan of thousands of values. But
columns never decide that a file is malformed. If any check fails, the result is dropped and the plan is
read again table by table, which decides and raises the error. So each error is made in one place, and
both ways read the same from a sound program.
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
"""The number of values from which columns pay off; each of their several types needs its own columns."""

MIN_LIKE_ROWS = 40
"""The same for tables that are mostly alike, as instructions are."""

MIN_ROWS_TO_IMPORT_NUMPY = 30_000
"""The number of rows from which reading one by one takes longer than importing numpy."""

_MOST_GROUPS = 64
"""The largest number of distinct vtables, or vector lengths, in one column.

A writer makes one vtable for each set of fields that occurs, and tensors have few distinct ranks. Each
group takes a pass over the rows, so a hostile file with many must not be read in this way.
"""

_LONGEST_BYTES = 1 << 31
"""numpy has no element type of this size or more."""

_MIXER = 6364136223846793005
"""A multiplier that spreads numbers over 64 bits (Knuth's, for random numbers)."""

_DTYPES = {"?": "?", "b": "i1", "B": "u1", "i": "i4", "I": "i8", "q": "i8", "Q": "i8", "d": "f8"}
"""The type of a column by the struct code of its field. Unsigned ones are wide enough to count with."""


class DoubtError(Exception):
    """A check of the columns failed: the tables must be read one by one. Never leaves `etconfig.program`."""


def make_sure(condition: object) -> None:
    """Raise DoubtError unless `condition` is true."""
    if not condition:
        raise DoubtError


@contextmanager
def columns_of(cursor: Cursor, row_count: int, *, are_alike: bool) -> Iterator[Columns]:
    """A context with columns over the bytes of `cursor`; the work inside is charged only if it succeeds.

    Raises:
        DoubtError: a check inside failed, there are too few rows for columns, or numpy is not installed.
    """
    enough = MIN_LIKE_ROWS if are_alike else MIN_ROWS
    make_sure(row_count >= (enough if "numpy" in sys.modules else MIN_ROWS_TO_IMPORT_NUMPY))
    with cursor.attempt():
        try:
            yield Columns(cursor)
        except (ProgramError, ImportError) as error:
            raise DoubtError from error


class Columns:
    """Reads tables and vectors in bulk. Every method raises DoubtError if one may be malformed."""

    def __init__(self, cursor: Cursor) -> None:
        import numpy

        self.numpy = numpy
        self._cursor = cursor
        words = cursor.windows(4)
        self._signed, self._unsigned = words.view("<i4"), words.view("<u4")

    def check(self, holds: Column) -> None:
        """Raise DoubtError unless every number or truth value differs from 0."""
        make_sure(self.numpy.count_nonzero(holds) == holds.size)

    def check_zero(self, numbers: Column) -> None:
        """Raise DoubtError unless every number is 0."""
        make_sure(not self.numpy.count_nonzero(numbers))

    def table(self, positions: Column, layout: Layout) -> Sequence[Column]:
        """Return the fields of all tables at `positions`, as `Cursor.table` does for one table."""
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
        """Yield each distinct number, and an index of the rows that have it."""
        # One group after the other: there are few, often one, and comparing is cheaper than sorting.
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
        """Return the fields of tables that share one vtable."""
        reader = self._cursor.table_reader(vtable, layout)
        if reader.alignment_mask != 3:  # `table` has checked that all positions are multiples of 4
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
        """Return the numbers at `offset` in each element of `whole`."""
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
        """Return the positions that the `count` references of the vector at `position` lead to."""
        self._cursor.charge(4 + 4 * count, "")
        places = self.numpy.arange(position + 4, position + 4 + 4 * count, 4)
        offsets = _at(self._unsigned, places)
        self.check(offsets)
        return offsets + places

    def vectors(self, positions: Column, kind: FieldKind) -> Vectors:
        """Return the vectors of numbers at `positions`, as `Cursor.numbers` returns one."""
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
        """Return the first row of each kind of equal rows, and for each row the number of its kind."""
        numpy = self.numpy
        varying = [column for column in columns if numpy.count_nonzero(column != column[0])]
        if not varying:
            return numpy.zeros(1, "i8"), numpy.zeros(len(columns[0]), "i8")
        mixed = varying[0].astype("i8")
        for column in varying[1:]:
            mixed = mixed * _MIXER + column  # modulo 2**64: sorting one column is faster than many
        _, firsts, kinds = numpy.unique(mixed, return_index=True, return_inverse=True)
        for column in varying:
            self.check(column == column[firsts][kinds])  # different rows may be mixed to equal numbers
        return firsts, kinds

    def _elements(self, starts: Column, length: int, kind: FieldKind) -> Column:
        """Return the elements of vectors of one length, of shape (rows, length)."""
        size_bytes = length * kind.size_bytes
        if not size_bytes:
            return self.numpy.zeros((len(starts), 0), kind.code)
        make_sure(size_bytes < _LONGEST_BYTES)
        return _at(self._cursor.windows(size_bytes), starts).view(f"<{kind.code}").reshape(-1, length)


class Vectors:
    """The vectors of one column.

    Attributes:
        counts: The number of elements of each.
        by_length: The rows of each distinct length, and their elements, of shape (rows, length).
    """

    def __init__(self, counts: Column, by_length: Sequence[tuple[Any, Column]]) -> None:
        self.counts = counts
        self.by_length = by_length

    def padded(self) -> Column:
        """Return all elements, of shape (rows, greatest length), padded with zeros."""
        if len(self.by_length) == 1:
            return self.by_length[0][1]
        import numpy

        width = max(elements.shape[1] for _, elements in self.by_length)
        padded = numpy.zeros((len(self.counts), width), self.by_length[0][1].dtype)
        for rows, elements in self.by_length:
            padded[rows, : elements.shape[1]] = elements
        return padded

    def tuples(self) -> Sequence[tuple[Any, ...]]:
        """Return the elements of each row."""
        return in_order([(rows, _tuples(elements)) for rows, elements in self.by_length])


def in_order(parts: Sequence[tuple[Any, list[_T]]]) -> Sequence[_T]:
    """Join the items of several parts of the rows into one sequence, in the order of the rows."""
    if len(parts) == 1:
        return parts[0][1]
    import numpy

    rows = numpy.concatenate([rows for rows, _ in parts])
    places = numpy.empty_like(rows)
    places[rows] = numpy.arange(len(rows))
    return pick(places.tolist(), [*chain.from_iterable(part for _, part in parts)])


def _tuples(elements: Column) -> list[tuple[Any, ...]]:
    """Return rows as tuples; equal rows, as dim orders of one rank mostly are, share one tuple."""
    first = elements[:1]
    if (elements == first).all():
        return [*map(tuple, first.tolist())] * len(elements)
    return [*zip(*elements.T.tolist(), strict=True)]


def _at(array: Column, positions: Column) -> Column:
    """Return the elements of `array`, which begin 4 bytes apart, at `positions`, which are multiples of 4.

    The bounds check is numpy's own: an index outside of `array` is an IndexError.

    Raises:
        DoubtError: there are no such elements.
    """
    try:
        found: Column = array[positions >> 2]
    except IndexError:
        raise DoubtError from None
    return found
