"""Parquet files joined by appending their row groups, without decoding a value."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from etconfig.fleet.thrift_compact import (
    I64,
    LIST,
    STRUCT,
    ThriftReader,
    ThriftStruct,
    thrift_bytes,
    thrift_list,
)
from etconfig.records import record

_MAGIC = b"PAR1"
_TAIL_BYTES = 8
_COPY_BYTES = 1 << 20

# Numbers of fields. Source: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
_SCHEMA, _ROWS, _ROW_GROUPS, _COLUMN_ORDERS = 2, 3, 4, 7
_GROUP_COLUMNS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_OFFSET, _CHUNK_DATA, _CHUNK_INDEXES = 2, 3, (4, 5, 6, 7)
_DATA_OFFSETS = (9, 10, 11, 14)
"""Those of a column's data pages, index pages, dictionary and Bloom filter."""


class NotJoinableError(Exception):
    """Files have different columns, so that their row groups do not fit together."""


@record(frozen=True)
class ParquetFooter:
    """The end of a Parquet file, which describes all before it.

    Attributes:
        tree: The fields of `FileMetaData`.
        start: The place where it begins, in bytes.
    """

    tree: ThriftStruct
    start: int

    @property
    def columns(self) -> tuple[Any, Any]:
        """The columns, and their order of values: files that agree in both can be joined."""
        return self.tree.get(_SCHEMA), self.tree.get(_COLUMN_ORDERS)

    def moved_row_groups(self, shift: int) -> list[bytes]:
        """Return the descriptions of the row groups, which stand a number of bytes later."""
        _, groups = self.tree.get(_ROW_GROUPS, (LIST, (STRUCT, [])))[1]
        return [thrift_bytes(_moved_group(group, shift)) for group in groups]


def join_parquet(paths: Sequence[Path], target: Path) -> None:
    """Write one Parquet file with the row groups of others, in their order, and the metadata of the first.

    Args:
        paths: At least one file. They have the same columns.
        target: The file to write.

    Raises:
        NotJoinableError: they have not.
        OSError: a file cannot be read or written, or is damaged.
    """
    groups: list[bytes] = []
    rows = 0
    first: ParquetFooter | None = None
    with target.open("wb") as output:
        output.write(_MAGIC)
        for path in paths:
            with path.open("rb") as file:
                footer = _footer(file, path)
                first = first or footer
                if footer.columns != first.columns:
                    raise NotJoinableError
                groups += footer.moved_row_groups(output.tell() - len(_MAGIC))
                rows += footer.tree[_ROWS][1]
                _copy(file, output, footer.start)
        if first is None:
            raise ValueError("expected at least one file")
        end = _joined(first, rows, groups)
        output.write(end + len(end).to_bytes(4, "little") + _MAGIC)


def _joined(first: ParquetFooter, rows: int, groups: Sequence[bytes]) -> bytes:
    """Return the footer: that of the first file, with other row groups."""
    before = {number: field for number, field in first.tree.items() if number < _ROW_GROUPS}
    after = {number: field for number, field in first.tree.items() if number > _ROW_GROUPS}
    head = thrift_bytes({**before, _ROWS: (I64, rows)})[:-1]  # without the end of the struct
    return head + bytes([1 << 4 | LIST]) + thrift_list(STRUCT, groups) + _following(after)


def _following(fields: ThriftStruct) -> bytes:
    """Return fields as bytes that follow the row groups: the first counts from their number."""
    return thrift_bytes({number - _ROW_GROUPS: field for number, field in fields.items()})


def _footer(file: BinaryIO, path: Path) -> ParquetFooter:
    """Return the footer of a file.

    Raises:
        OSError: it has none.
    """
    size = file.seek(0, os.SEEK_END)
    try:
        file.seek(max(size - _TAIL_BYTES, 0))
        tail = file.read(_TAIL_BYTES)
        start = size - _TAIL_BYTES - int.from_bytes(tail[:4], "little")
        if tail[4:] != _MAGIC or start < len(_MAGIC):
            raise ValueError("it has no footer")
        file.seek(start)
        found = ParquetFooter(ThriftReader(file.read(size - _TAIL_BYTES - start)).read_struct(), start)
        _ = found.tree[_ROWS], found.moved_row_groups(0)
    except (ValueError, LookupError, TypeError) as error:
        raise OSError(None, f"it is damaged: {error}", str(path)) from error
    return found


def _copy(source: BinaryIO, target: BinaryIO, end: int) -> None:
    """Copy what stands between the first magic and the footer."""
    source.seek(len(_MAGIC))
    left = end - len(_MAGIC)
    while left:
        data = source.read(min(left, _COPY_BYTES))
        if not data:
            raise OSError("a file became shorter")
        target.write(data)
        left -= len(data)


def _moved_group(group: ThriftStruct, shift: int) -> ThriftStruct:
    """Return the description of a row group that stands elsewhere.

    Its number goes, which has 16 bits.
    """
    kind, (inner, chunks) = group[_GROUP_COLUMNS]
    moved = {**group, _GROUP_COLUMNS: (kind, (inner, [_moved_chunk(chunk, shift) for chunk in chunks]))}
    moved.pop(_GROUP_ORDINAL, None)
    return _moved(moved, (_GROUP_OFFSET,), shift)


def _moved_chunk(chunk: ThriftStruct, shift: int) -> ThriftStruct:
    """Return the description of a column chunk that stands elsewhere.

    Its indexes go, which have places of pages.
    """
    kept = {number: field for number, field in chunk.items() if number not in _CHUNK_INDEXES}
    kind, data = kept[_CHUNK_DATA]
    kept[_CHUNK_DATA] = (kind, _moved(data, _DATA_OFFSETS, shift))
    return _moved(kept, (_CHUNK_OFFSET,), shift) if kept[_CHUNK_OFFSET][1] else kept


def _moved(fields: ThriftStruct, numbers: Sequence[int], shift: int) -> ThriftStruct:
    """Return fields of which some are places in the file, moved."""
    return {
        number: (kind, value + shift) if number in numbers else (kind, value)
        for number, (kind, value) in fields.items()
    }
