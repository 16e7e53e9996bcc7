"""A program's payloads: where its segments, constants, initial states, inline and named data are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from etconfig.base.records import record
from etconfig.flatbuffer.layout import U64, Layout
from etconfig.program import program_tables
from etconfig.program.cursor import Cursor, Extent
from etconfig.program.identify import ExtendedHeader
from etconfig.program.model import BackendDelegateDataReference, DataLocation
from etconfig.program.program_errors import bad_index, malformed, naming, truncated


@record(frozen=True, kw_only=True)
class Payloads:
    """The extents of all payloads of a program.

    The extent of a constant or an initial state reaches to the next one, because the file says only where
    each starts. The tensor itself may be smaller.

    Attributes:
        segments: Program.segments.
        constants: By `data_buffer_idx`; the first is a placeholder that no tensor uses.
        mutable_data: By `mutable_data_segments_idx`, then by `data_buffer_idx`.
        inline_delegates: Program.backend_delegate_data.
        named_data: Program.named_data, by key.
    """

    segments: tuple[Extent, ...]
    constants: tuple[Extent, ...]
    mutable_data: tuple[tuple[Extent, ...], ...]
    inline_delegates: tuple[Extent, ...]
    named_data: Mapping[str, Extent]

    def constant(self, data_buffer_idx: int, size_bytes: int) -> Extent:
        """Return the extent of a constant tensor of `size_bytes` bytes.

        Raises:
            MalformedProgramError: there is no such constant.
            TruncatedProgramError: it is smaller.
        """
        return _subextent(self.constants, data_buffer_idx, size_bytes, "constants")

    def mutable_initial_data(
        self, mutable_data_segments_idx: int, data_buffer_idx: int, size_bytes: int
    ) -> Extent:
        """Return the extent of a mutable tensor's initial state; raises the same errors as `constant`."""
        valid = range(len(self.mutable_data))
        if mutable_data_segments_idx not in valid:
            raise bad_index(
                "mutable_data_segments_idx", mutable_data_segments_idx, valid, "mutable_data_segments"
            )
        region = f"mutable_data_segments[{mutable_data_segments_idx}]"
        return _subextent(self.mutable_data[mutable_data_segments_idx], data_buffer_idx, size_bytes, region)

    def delegate(self, reference: BackendDelegateDataReference) -> Extent:
        """Return the extent of a delegate's payload.

        Raises:
            MalformedProgramError: there is no such payload.
        """
        if reference.location is DataLocation.INLINE:
            extents, target = self.inline_delegates, "backend_delegate_data"
        else:
            extents, target = self.segments, "segments"
        if reference.index not in range(len(extents)):
            raise bad_index("index", reference.index, range(len(extents)), target)
        return extents[reference.index]


def _subextent(extents: tuple[Extent, ...], index: int, size_bytes: int, region: str) -> Extent:
    if size_bytes < 0:
        raise ValueError(f"size_bytes is {size_bytes}; expected 0 or more")
    if index not in range(1, len(extents)):
        raise bad_index("data_buffer_idx", index, range(1, len(extents)), region)
    start, available_bytes = extents[index]
    if size_bytes > available_bytes:
        raise truncated(f"{region}[{index}]", start, size_bytes, available_bytes)
    return Extent(start, size_bytes)


def read_segments(cursor: Cursor, position: int, base: int, end: int) -> tuple[Extent, ...]:
    """Return the extents in the file of the segments of the vector at `position`.

    Args:
        cursor: Reads the file's tables.
        position: The vector of DataSegment tables; 0 if there is none.
        base: The position of the first segment, from which offsets count; 0 if the file does not state it.
        end: The position after the last segment.

    Raises:
        ProgramError: a segment leaves these bounds, or shares bytes with another one.
    """

    def read(table: int) -> Extent:
        offset, size_bytes = cursor.table(table, program_tables.DATA_SEGMENT)
        if size_bytes and not base:
            raise malformed(
                "missing-header", "", "the file has segments, but no header says where they start"
            )
        if base + offset + size_bytes > end:
            raise truncated("", base + offset, size_bytes, end - base - offset)
        return Extent(base + offset, size_bytes)

    segments = cursor.each(position, "segments", read) if position else ()
    # each belongs to one payload alone
    by_start = sorted((each.start, each.end, i) for i, each in enumerate(segments) if each.size_bytes)
    for (_, segment_end, first), (start, _, second) in pairwise(by_start):
        if start < segment_end:
            detail = f"it starts before segments[{first}] ends, at {segment_end}"
            raise malformed("overlapping-segments", f"segments[{second}]", detail, offset=start)
    return segments


def gaps_between(start: int, segments: Sequence[Extent], end: int) -> list[Extent]:
    """Return the extents from `start` to `end` outside of all `segments`, which share no bytes, in order."""
    gaps = []
    for segment in sorted(segments):
        if segment.start > start:
            gaps.append(Extent(start, segment.start - start))
        start = max(start, segment.end)
    return [*gaps, Extent(start, end - start)] if start < end else gaps


def read_payloads(
    cursor: Cursor, root: Sequence[Any], header: ExtendedHeader | None, file_bytes: int
) -> Payloads:
    """Locate every payload and check it against the file.

    Args:
        cursor: Reads the program's tables.
        root: The fields of the root table.
        header: The extended header, if there is one.
        file_bytes: The size of the whole file, segments included.

    Raises:
        ProgramError: a payload lies outside the file or its segment, or overlaps another one.
    """
    _, _, constant_buffer, delegate_data, segment_list, constant_segment, mutable_data, named_data = root
    base = header.segment_base_offset if header else 0
    end = base + header.segment_data_size if header and header.segment_data_size else file_bytes
    segments = read_segments(cursor, segment_list, base, end)
    split = partial(_read_subsegments, cursor, segments)
    return Payloads(
        segments=segments,
        constants=_read_constants(cursor, constant_buffer, constant_segment, split),
        mutable_data=cursor.each(mutable_data, "mutable_data_segments", split) if mutable_data else (),
        inline_delegates=_read_inline(
            cursor, delegate_data, "backend_delegate_data", program_tables.BACKEND_DELEGATE_INLINE_DATA
        ),
        named_data=_read_named_data(cursor, named_data, segments),
    )


def _read_constants(
    cursor: Cursor, constant_buffer: int, constant_segment: int, split: Callable[[int], tuple[Extent, ...]]
) -> tuple[Extent, ...]:
    inline = _read_inline(cursor, constant_buffer, "constant_buffer", program_tables.BUFFER)
    if not constant_segment:
        return inline
    in_segment = cursor.at(constant_segment, "constant_segment", split)
    if inline and in_segment:
        detail = f"there are {len(inline)} constants in constant_buffer as well"
        raise malformed("conflicting-constants", "constant_segment", detail, offset=constant_segment)
    return in_segment or inline


def _read_subsegments(cursor: Cursor, segments: Sequence[Extent], table: int) -> tuple[Extent, ...]:
    """Split a segment at the offsets in a table: the extent from each offset to the next larger one.

    Offsets may repeat, in any order. The first is a placeholder; alone, it stands for no data.
    """
    segment_index, offsets_position = cursor.table(table, program_tables.SUBSEGMENT_OFFSETS)
    offsets = cursor.numbers(offsets_position, U64, "offsets") if offsets_position else ()
    if len(offsets) < 2:
        return ()
    valid = range(len(segments))
    if segment_index not in valid:
        raise bad_index("segment_index", segment_index, valid, "segments")
    segment = segments[segment_index]
    largest = max(offsets[1:])
    if largest > segment.size_bytes:
        at = offsets.index(largest, 1)
        raise truncated(f"offsets[{at}]", segment.start + largest, 0, segment.size_bytes - largest)
    # sorted once and searched: comparing each offset with all others would take quadratic time
    boundaries = sorted({*offsets[1:], segment.size_bytes})
    extents = [Extent(segment.start, 0)]
    for offset in offsets[1:]:
        following = bisect_right(boundaries, offset)
        end = boundaries[following] if following < len(boundaries) else offset
        extents.append(Extent(segment.start + offset, end - offset))
    return tuple(extents)


def _read_inline(cursor: Cursor, position: int, field: str, table_layout: Layout) -> tuple[Extent, ...]:
    """Read the payloads of tables with one vector of bytes each; an absent vector counts as empty."""

    def read(table: int) -> Extent:
        (data,) = cursor.table(table, table_layout)
        return cursor.bytes_extent(data, "data") if data else Extent(table, 0)

    return cursor.each(position, field, read) if position else ()


def _read_named_data(cursor: Cursor, position: int, segments: Sequence[Extent]) -> Mapping[str, Extent]:
    valid = range(len(segments))
    named: dict[str, Extent] = {}

    def read(table: int) -> None:
        key_position, segment_index = cursor.table(table, program_tables.NAMED_DATA)
        key = cursor.string(key_position, "key")
        if key in named:
            raise malformed("duplicate-name", "key", f"another blob is named {key!r}")
        if segment_index not in valid:
            raise bad_index("segment_index", segment_index, valid, "segments")
        named[key] = segments[segment_index]

    if position:
        cursor.each(position, "named_data", read)
    return MappingProxyType(named)


class VerifiedLoader:
    """A `DataLoader` over a program or a data file that was verified. Threads may share it.

    Args:
        file: The whole file.
        tables_bytes: The size of the tables, whose verified bytes are in memory.
        named: Adds the name of the file to errors.
    """

    def __init__(self, file: Cursor, tables_bytes: int, named: naming) -> None:
        self._file = file
        self._tables_bytes = tables_bytes
        self._naming = named

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return self._file.size_bytes

    def load(self, offset: int, size: int) -> memoryview:
        """Return `size` bytes from `offset` on, read-only, without a copy.

        Raises:
            ProgramError: they are not in the file, or cannot be read.
        """
        extent = Extent(offset, size)
        with self._naming:
            if extent.end <= self._tables_bytes:
                return self._file.view(extent, "")
            return self._file.apart(extent, "")


class NamedData(Mapping[str, memoryview]):
    """An immutable mapping; looking up a key raises ProgramError if its bytes cannot be read."""

    def __init__(self, readers: Mapping[str, Callable[[], memoryview]]) -> None:
        """Take the functions that read the data, by key."""
        self._readers = dict(readers)

    def __getitem__(self, key: str) -> memoryview:
        read = self._readers.get(key)
        if read is None:
            raise KeyError(f"{key!r} is neither in the program nor in one of its data files (.ptd)")
        return read()

    def __contains__(self, key: object) -> bool:
        return key in self._readers

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)
