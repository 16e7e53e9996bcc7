"""Reading of lines of JSON by Arrow, in blocks: what it may read otherwise than DuckDB is handed back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from etconfig.facts.registry import FactInfo
from etconfig.facts.sheet_json import SHEET_VERSION
from etconfig.fleet.columns import DEVICE_COLUMN, DEVICE_FACT, SHEET_KEYS
from etconfig.fleet.json_shape import UNSAFE_ESCAPES, LineLayout

if TYPE_CHECKING:
    import pyarrow

_MAX_ROWS = 90_000
"""The lines that are read at once; Arrow takes at most 100,000."""

_PIECES = 8
"""A block that is refused is read again in so many pieces."""

_MIN_PIECE_BYTES = 64 << 10
"""A piece of at most this size that is refused is handed back."""

_MAX_REFUSALS, _MAX_REFUSALS_IN_ROW = 32, 8
"""After so many refused pieces of a block, in all or with none read between, its rest is handed back."""

_ROW = re.compile(r" in row (\d+)$")

_NEWLINE, _OPEN, _CLOSE = b"\n{}"
_AFTER_CLOSE = b",}]\n"


class LongLineError(Exception):
    """A line is so long that the file is better read as a whole."""


def is_arrow_installed() -> bool:
    """Return True if pyarrow is installed."""
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def blocks_of(file: BinaryIO, size: int, max_line: int) -> Iterator[bytes]:
    """Yield the lines of a file in blocks of about `size` bytes.

    Raises:
        LongLineError: a line has more than `max_line` bytes.
    """
    rest = b""
    while chunk := file.read(size):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield rest + chunk[:end]
            rest = chunk[end:]
        else:
            rest += chunk
        if len(rest) > max_line:
            raise LongLineError
    if rest:
        yield rest


def sample_lines(block: bytes, step: int) -> list[bytes]:
    """Return the first line of a block, and one after each `step` bytes."""
    found = []
    for near in range(0, len(block), step):
        start = block.rfind(b"\n", 0, near) + 1
        end = block.find(b"\n", start)
        found.append(block[start : end if end >= 0 else len(block)])
    return list(dict.fromkeys(found))


def split_lines(block: bytes, count: int) -> Iterator[bytes]:
    """Yield the lines of a block in about `count` pieces of equal size."""
    size, start = max(1, len(block) // count), 0
    while start < len(block):
        end = block.find(b"\n", start + size - 1) + 1 or len(block)
        yield block[start:end]
        start = end


def _around(block: bytes, row: int) -> list[bytes]:
    """Return a line of a block, with what is before it and after it, if anything."""
    start = 0
    for _ in range(row):
        start = block.find(b"\n", start) + 1
    end = block.find(b"\n", start) + 1 or len(block)
    return [part for part in (block[:start], block[start:end], block[end:]) if part]


class BlockReader:
    """Reads blocks of lines that have one shape and no trap, and hands back the others.

    Arrow reports a key that is repeated, one that the shape lacks, and a value of another type. It does not
    report NaN, two objects in a line, an object over several lines, characters that are not UTF-8, a unit
    that is not the fact's, an object without a value, and another version of sheets; these are found here.
    """

    def __init__(self) -> None:
        import numpy
        import pyarrow
        import pyarrow.compute
        import pyarrow.json

        self._numpy = numpy
        self._arrow = pyarrow
        self._json = pyarrow.json
        self._compute = pyarrow.compute
        ends = numpy.zeros(256, dtype=bool)
        ends[list(_AFTER_CLOSE)] = True
        self._may_follow = ends

    def read(self, block: bytes, layout: LineLayout) -> list[pyarrow.Table | bytes]:
        """Return tables of the lines of a block, and the lines that are handed back, in their order."""
        found: list[pyarrow.Table | bytes] = []
        waiting = [block]
        refusals = in_row = 0
        while waiting:
            if refusals == _MAX_REFUSALS or in_row == _MAX_REFUSALS_IN_ROW:
                return [*found, b"".join(reversed(waiting))]
            piece = waiting.pop()
            table, parts = self._table(piece, layout)
            if table is not None:
                found.append(table)
                in_row = 0
                continue
            if len(parts) == 1:
                found.append(piece)
                refusals, in_row = refusals + 1, in_row + 1
            else:
                waiting += reversed(parts)
        return found

    def _table(self, block: bytes, layout: LineLayout) -> tuple[pyarrow.Table | None, list[bytes]]:
        """Return the columns of facts of lines, and the pieces to read apart if there are none.

        A table is only returned if Arrow refuses nothing, and may have misread nothing.
        """
        parts = [*split_lines(block, _PIECES)] if len(block) > _MIN_PIECE_BYTES else [block]
        text = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        rows = self._plain_rows(text)
        if not rows or rows > _MAX_ROWS:
            return None, parts
        json, arrow = self._json, self._arrow
        try:
            found = json.read_json(
                arrow.BufferReader(text),
                json.ReadOptions(use_threads=False, block_size=len(text) + 1),
                json.ParseOptions(explicit_schema=layout.schema, unexpected_field_behavior="error"),
            )
        except arrow.ArrowException as error:
            row = _ROW.search(str(error))
            return None, parts if row is None else _around(block, int(row[1]))
        if found.num_rows != rows:
            return None, parts
        (batch,) = found.combine_chunks().to_batches()
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        if not all(map(self._is_finite, columns.values())):
            return None, parts
        return self._facts_table(columns, layout), parts

    def _plain_rows(self, block: bytes) -> int:
        """Return the number of lines if each has objects alone, and no text that is misread; else 0.

        Arrow reads values, not lines: here each line begins with an object, and nothing but an object begins
        after one. So there is one object in each line if Arrow finds as many as there are lines.
        """
        if not block.isascii():
            try:
                block.decode()
            except UnicodeDecodeError:
                return 0
        if b"\\" in block and UNSAFE_ESCAPES.search(block):
            return 0
        numpy = self._numpy
        text = numpy.frombuffer(block if block.endswith(b"\n") else block + b"\n", dtype=numpy.uint8)
        if text[0] != _OPEN or b"\r" in block:
            return 0
        ends = numpy.flatnonzero(text == _NEWLINE)
        closed = numpy.flatnonzero(text == _CLOSE)
        one_each = (text[ends - 1] == _CLOSE).all() and (text[ends[:-1] + 1] == _OPEN).all()
        return len(ends) if one_each and self._may_follow[text[closed + 1]].all() else 0

    def _is_finite(self, array: Any) -> bool:
        """Return True if no number in an array is NaN or infinite."""
        types = self._arrow.types
        if types.is_floating(array.type):
            return bool(self._compute.all(self._compute.is_finite(array)).as_py() is not False)
        if types.is_struct(array.type):
            return all(map(self._is_finite, array.flatten()))
        return not types.is_list(array.type) or self._is_finite(array.flatten())

    def _facts_table(self, columns: dict[str, Any], layout: LineLayout) -> pyarrow.Table | None:
        """Return the columns of a converted file, without the numbers of lines; None if a sheet is wrong."""
        arrow, compute = self._arrow, self._compute
        facts = columns
        if layout.has_version:
            is_right = compute.equal(columns[SHEET_KEYS[0]], SHEET_VERSION)
            if compute.all(is_right).as_py() is False:
                return None
        if layout.is_sheet:
            inside = columns[SHEET_KEYS[1]]
            if inside.null_count:
                return None
            facts = dict(zip((field.name for field in inside.type), inside.flatten(), strict=True))
        values: dict[str, Any] = {}
        for fact, (key, info) in layout.facts.items():
            value = self._value(info, facts[key])
            if value is None:
                return None
            values[fact] = value
        names = [(facts if inside else columns)[key] for inside, key in layout.devices]
        texts = [compute.cast(each, arrow.string()) for each in names]
        count = len(next(iter(columns.values())))
        device = compute.coalesce(*texts) if texts else arrow.nulls(count, arrow.string())
        if DEVICE_FACT in values:
            values[DEVICE_FACT] = compute.coalesce(values[DEVICE_FACT], device)
        return arrow.table({DEVICE_COLUMN: device, **values})

    def _value(self, info: FactInfo, entry: Any) -> Any:
        """Return the values of a fact, or None if one has another unit, or is in a wrong object."""
        arrow, compute = self._arrow, self._compute
        if arrow.types.is_struct(entry.type):
            parts = dict(zip((field.name for field in entry.type), entry.flatten(), strict=True))
            unit = parts.get("unit")
            if unit is not None and unit.null_count < len(unit):
                expected = info.unit
                if expected is None or not compute.all(compute.equal(unit, expected)).as_py():
                    return None
            if not self._has_one_each(entry, parts):
                return None
            entry = parts["value"]
        return compute.add(entry, 0.0) if arrow.types.is_floating(entry.type) else entry  # -0.0 is 0.0

    def _has_one_each(self, entry: Any, parts: dict[str, Any]) -> bool:
        """Return True if each object has either a value or the reason why it is unknown."""
        compute = self._compute
        has_one = compute.is_valid(parts["value"])
        if "unknown" in parts:
            has_one = compute.xor(has_one, compute.is_valid(parts["unknown"]))
        return bool(compute.all(compute.equal(has_one, compute.is_valid(entry))).as_py())
