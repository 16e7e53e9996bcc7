"""Many tables of one layout at once: each field a numpy column, all rows verified together.

A plan of thousands of values is read three to ten times as fast by columns as table by table. But
columns only ever say that all is well: whatever they doubt, they leave to the reader that goes table
by table, which decides and makes the error. So there is one place for each error, and both ways
read the same from a sound program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from etconfig.errors import ProgramError
from etconfig.program.cursor import Cursor
from etconfig.program.layout import Kind, Layout

if TYPE_CHECKING:
    import numpy as np

    Column: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
    """One number for each table."""

MIN_ROWS = 120
"""Fewer tables than these are read faster one by one."""

MIN_ROWS_TO_IMPORT_NUMPY = 30_000
"""So many take longer to read one by one than numpy takes to import."""

_MOST_GROUPS = 64
"""A writer makes one vtable for each set of fields that occurs, and few ranks occur."""


class DoubtError(Exception):
    """The columns cannot tell that all is well. It never leaves `etconfig.program`."""


def make_sure(condition: object) -> None:
    """DoubtError unless `condition` holds."""
    if not condition:
        raise DoubtError


@contextmanager
def columns_of(cursor: Cursor, row_count: int) -> Iterator[Columns]:
    """Columns over what `cursor` reads; the work inside counts only if there is no doubt.

    Raises:
        DoubtError: there was one inside, or there are too few rows for columns, or no numpy.
    """
    make_sure(row_count >= (MIN_ROWS if "numpy" in sys.modules else MIN_ROWS_TO_IMPORT_NUMPY))
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
        self._arrays: dict[str, Column] = {}

    def check(self, holds: Column) -> None:
        """DoubtError unless `holds` is true everywhere."""
        make_sure(self._is_true(holds))

    def _is_true(self, holds: Column) -> bool:
        """`holds.all()`, in a fifth of its time for short columns."""
        return bool(self.numpy.count_nonzero(holds) == holds.size)

    def table(self, positions: Column, layout: Layout) -> list[Column]:
        """The fields of all tables at `positions`, as `Cursor.table` gives those of one."""
        numpy, cursor = self.numpy, self._cursor
        make_sure(int(positions.max()) + 4 <= cursor.size_bytes)
        self.check(positions & 3 == 0)
        vtables = positions - self.gather("i", positions)
        fields = [numpy.full(len(positions), each.kind.default) for each in layout.fields]
        for vtable, rows in self.groups(vtables):
            self._read_rows(positions[rows], vtable, layout, [(field, rows) for field in fields])
        return fields

    def groups(self, numbers: Column) -> Iterator[tuple[int, Any]]:
        """Each number that occurs, and an index of the rows that have it."""
        if self._is_true(numbers == numbers[0]):
            yield int(numbers[0]), slice(None)
            return
        distinct = self.numpy.unique(numbers).tolist()
        make_sure(len(distinct) <= _MOST_GROUPS)
        for number in distinct:
            yield number, self.numpy.flatnonzero(numbers == number)

    def _read_rows(
        self, tables: Column, vtable: int, layout: Layout, targets: Iterable[tuple[Column, Any]]
    ) -> None:
        """Read the tables of one vtable into the rows of `targets`, one for each field."""
        shape = self._cursor.shape(vtable, layout)
        make_sure(int(tables.max()) + shape.size_bytes <= self._cursor.size_bytes)
        self.check(tables & shape.alignment_mask == shape.alignment)
        self._cursor.charge(shape.size_bytes * len(tables), "")
        for offset, field, (target, rows) in zip(shape.offsets, layout.fields, targets, strict=True):
            if offset:
                found = self.gather(field.kind.code, tables + offset)
                if field.kind.is_reference:
                    self.check(found != 0)
                    found = found + (tables + offset)
                target[rows] = found

    def references(self, position: int, count: int) -> Column:
        """Where the `count` references of the vector at `position` lead, as `Cursor.references`."""
        self._cursor.charge(4 + 4 * count, "")
        places = self.numpy.arange(position + 4, position + 4 + 4 * count, 4)
        offsets = self.gather("I", places)
        self.check(offsets != 0)
        return offsets + places

    def vectors(self, positions: Column, kind: Kind) -> Vectors:
        """The vectors of numbers at `positions`, as `Cursor.numbers` gives one."""
        size_bytes, limit = kind.size_bytes, self._cursor.size_bytes
        starts = positions + 4
        self.check((positions > 0) & (positions & 3 == 0))
        make_sure(int(starts.max()) <= limit)
        counts = self.gather("I", positions)
        self.check((starts & (size_bytes - 1) == 0) | (counts == 0))
        self.check(starts + counts * size_bytes <= limit)
        self._cursor.charge(4 * len(positions) + int(counts.sum()) * size_bytes, "")
        return Vectors(self, starts, counts, kind)

    def gather(self, code: str, positions: Column) -> Column:
        """The numbers at `positions`, which are aligned and inside; signed and 64 bits wide."""
        array = self._arrays.get(code)
        if array is None:
            array = self._arrays[code] = self._cursor.as_array("B" if code == "?" else code)
        found: Column = array[positions // array.itemsize]
        if code == "?":
            found = found != 0
        if code in "?d":
            return found
        if code == "Q":
            self.check(found >> 63 == 0)
        return found.astype("i8")


class Vectors:
    """The vectors of one column.

    Attributes:
        counts: How many elements each has.
    """

    def __init__(self, columns: Columns, starts: Column, counts: Column, kind: Kind) -> None:
        self.counts = counts
        self._groups = [
            (rows, columns.gather(kind.code, starts[rows][:, None] + places * kind.size_bytes))
            for length, rows in columns.groups(counts)
            for places in [columns.numpy.arange(length)]
        ]

    def by_length(self) -> Sequence[tuple[Any, Column]]:
        """The rows of each length that occurs, and their elements, of shape (rows, length)."""
        return self._groups

    def tuples(self) -> list[tuple[Any, ...]]:
        """The elements of each row."""
        found: list[tuple[Any, ...]] = [()] * len(self.counts)
        for rows, elements in self._groups:
            made = self._rows(elements)
            if isinstance(rows, slice):
                return made
            for row, items in zip(rows.tolist(), made, strict=True):
                found[row] = items
        return found

    def _rows(self, elements: Column) -> list[tuple[Any, ...]]:
        """Rows as tuples; where all are equal, as dim orders of one rank mostly are, one tuple serves all."""
        if (elements == elements[0]).all():
            return [tuple(elements[0].tolist())] * len(elements)
        return [*map(tuple, elements.tolist())]
