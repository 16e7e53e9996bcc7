"""`open_data_file` and `DataFile`: a .ptd, which stores tensors and blobs of programs by key.

Source: executorch extension/flat_tensor/serialize/flat_tensor.fbs and flat_tensor_header.h.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from etconfig.errors import ProgramError
from etconfig.flatbuffer.layout import I8, REFERENCE, U32, Layout
from etconfig.program.cursor import Cursor, Extent
from etconfig.program.identify import check_is_data_file
from etconfig.program.limits import DEFAULT_LIMITS, Limits
from etconfig.program.payload_reader import VerifiedLoader, read_segments
from etconfig.program.program_errors import bad_index, malformed, naming, truncated, unsupported
from etconfig.program.source import DataLoader, LoadMode, ProgramSource, open_bytes
from etconfig.program.tensor_reader import TensorLayout, read_tensor_layout

_FLAT_TENSOR = Layout(version=U32, segments=REFERENCE, named_data=REFERENCE, old_segments=REFERENCE)
"""ExecuTorch 0.6 and older wrote other tables under the same identifier; their segments are in slot 3."""

_NAMED_DATA = Layout(key=REFERENCE, segment_index=U32, tensor_layout=REFERENCE)
_TENSOR_LAYOUT = Layout(scalar_type=I8, sizes=REFERENCE, dim_order=REFERENCE)

_MAGIC = b"FH01"
_START = 8
_LENGTH = 40
_REGION = "data header"


class NamedBlob(NamedTuple):
    """One tensor or blob of a data file.

    Attributes:
        read: Returns the bytes, read-only; raises ProgramError if they cannot be read.
        layout: The type and shape of a tensor; None for opaque bytes, such as a delegate's.
        size_bytes: The number of bytes.
    """

    read: Callable[[], memoryview]
    layout: TensorLayout | None
    size_bytes: int

    @property
    def data(self) -> memoryview:
        """The result of `read()`."""
        return self.read()


class _Header(NamedTuple):
    """The bounds of the tables and of the segments after them, checked against the size of the file."""

    tables_end: int
    segments_start: int
    segments_end: int


class DataFile:
    """A data file, as `open_data_file` returns it. It is immutable, and programs may share it.

    Attributes:
        path: The file, or None if it was opened from bytes.
        size_bytes: The size of the file.
        version: The version that the file states; ExecuTorch writes 0.
        blobs: Its tensors and blobs by key, in the order of the file.
    """

    def __init__(
        self, path: str | None, file: Cursor, tables_end: int, version: int, blobs: Mapping[str, NamedBlob]
    ) -> None:
        self.path: Final = path
        self.size_bytes: Final = file.size_bytes
        self._file = file
        self._tables_end = tables_end
        self.version: Final = version
        self.blobs: Final = MappingProxyType(blobs)

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self.path or "data in memory"

    def whole(self) -> memoryview:
        """Return all bytes of the file, read-only, for an executor that parses them itself.

        Raises:
            ProgramError: the file cannot be read, or became shorter.
        """
        with naming(self.path):
            return self._file.view(Extent(0, self.size_bytes), "")

    def loader(self) -> DataLoader:
        """Return a loader of the file's bytes, as `Program.loader`."""
        return VerifiedLoader(self._file, self._tables_end, naming(self.path))

    def __repr__(self) -> str:
        return f"<DataFile {self.path or 'in memory'}: {self.size_bytes} bytes, {len(self.blobs)} keys>"


def open_data_file(
    source: ProgramSource, *, limits: Limits = DEFAULT_LIMITS, load_mode: LoadMode = LoadMode.File
) -> DataFile:
    """Open a .ptd and verify it.

    Example:
        >>> weights = etconfig.open_data_file("weights.ptd")
        >>> len(weights.blobs)
        3

    Args:
        source: The path of the file, its bytes, an open file, or a `DataLoader`.
        limits: Bounds on the file.
        load_mode: Whether the file is read or mapped; see `LoadMode`.

    Raises:
        ProgramError: the file cannot be read, is not a data file, or is malformed.
        ValueError: `load_mode` maps files, but the source is not a path.
    """
    path = os.fsdecode(source) if isinstance(source, (str, os.PathLike)) else None
    with naming(path):
        file = open_bytes(source, load_mode, limits)
        check_is_data_file(file)
        header = _read_header(file)
        tables = file.first(header.tables_end)
        version, blobs = tables.at(
            tables.root(), "root", lambda table: _read_root(file, tables, table, header)
        )
    return DataFile(path, file, header.tables_end, version, blobs)


def _read_header(file: Cursor) -> _Header:
    if file.head(_START + len(_MAGIC))[_START:] != _MAGIC:
        detail = f"a data file has {_MAGIC.decode()!r} at byte {_START}"
        raise malformed("bad-header", _REGION, detail, offset=_START)
    length = file.u32(_START + 4, _REGION)
    if length < _LENGTH:
        detail = f"its length is {length}, at least {_LENGTH} is needed"
        raise malformed("bad-header", _REGION, detail, offset=_START + 4)
    offset, size_bytes, base, segment_bytes = (file.u64(_START + at, _REGION) for at in range(8, _LENGTH, 8))
    tables_end = offset + size_bytes
    if tables_end < _START + length:
        detail = f"the tables end at {tables_end}, which leaves no room for the header"
        raise malformed("bad-header", _REGION, detail, offset=_START + 8)
    if tables_end > file.size_bytes:
        raise truncated(_REGION, 0, tables_end, file.size_bytes)
    if segment_bytes and base < tables_end:
        detail = f"the segments start at {base}, inside the tables, which end at {tables_end}"
        raise malformed("bad-header", _REGION, detail, offset=_START + 24)
    if base + segment_bytes > file.size_bytes:
        raise truncated("segments", base, segment_bytes, file.size_bytes - base)
    return _Header(tables_end, base, base + segment_bytes)


def _read_root(file: Cursor, tables: Cursor, table: int, header: _Header) -> tuple[int, dict[str, NamedBlob]]:
    version, segment_list, named_data, old_segments = tables.table(table, _FLAT_TENSOR)
    try:
        segments = read_segments(tables, segment_list, header.segments_start, header.segments_end)
        return version, _read_named_data(file, tables, named_data, segments)
    except ProgramError as error:
        if not old_segments:
            raise
        detail = "the tables look like those of ExecuTorch 0.6 or older, which are not read"
        advice = "export the model again with ExecuTorch 0.7 or newer"
        raise unsupported("unsupported-version", "", detail, offset=table, advice=advice) from error


def _read_named_data(
    file: Cursor, tables: Cursor, position: int, segments: Sequence[Extent]
) -> dict[str, NamedBlob]:
    valid = range(len(segments))
    blobs: dict[str, NamedBlob] = {}

    def read(table: int) -> None:
        key_position, segment_index, layout_table = tables.table(table, _NAMED_DATA)
        key = tables.string(key_position, "key")
        if key in blobs:
            raise malformed("duplicate-name", "key", f"another blob is named {key!r}")
        if segment_index not in valid:
            raise bad_index("segment_index", segment_index, valid, "segments")
        segment = segments[segment_index]
        layout = (
            tables.at(layout_table, "tensor_layout", lambda at: _read_layout(tables, at, segment))
            if layout_table
            else None
        )
        blobs[key] = NamedBlob(partial(file.apart, segment, "segments"), layout, segment.size_bytes)

    if position:
        tables.each(position, "named_data", read)
    return blobs


def _read_layout(tables: Cursor, table: int, segment: Extent) -> TensorLayout:
    fields: Sequence[Any] = tables.table(table, _TENSOR_LAYOUT)
    layout = read_tensor_layout(tables, table, *fields)
    if layout.size_bytes > segment.size_bytes:
        raise truncated("", segment.start, layout.size_bytes, segment.size_bytes)
    if segment.start % layout.scalar_type.itemsize_bytes:
        detail = f"the data are not aligned to {layout.scalar_type.dtype_name}"
        raise malformed("misaligned", "", detail, offset=segment.start)
    return layout
