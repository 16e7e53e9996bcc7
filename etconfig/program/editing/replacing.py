"""Change the payloads of a program's delegates or the name of their backend, and nothing else.

No table moves: new tables are added after the old ones.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from etconfig.flatbuffer.layout import Layout
from etconfig.flatbuffer.writer import FlatBufferWriter
from etconfig.program import program_tables
from etconfig.program.cursor import Cursor, Extent
from etconfig.program.identify import ExtendedHeader, check_is_program, read_header
from etconfig.program.limits import DEFAULT_LIMITS
from etconfig.program.model import BackendDelegateDataReference, DataLocation
from etconfig.program.payload_reader import read_payloads
from etconfig.program.program_errors import malformed
from etconfig.program.source import LoadMode, open_bytes


def rename_backend(program: bytes, old: str, new: str) -> bytes:
    """Return the same program, in which every delegate of backend `old` is one of backend `new`.

    No table moves: the new name, of any length, is added after them, and the delegates refer to it. The
    segments keep their alignment.

    Raises:
        ProgramError: `program` is not a program, or is malformed in the parts that are read here.
    """
    file = open_bytes(program, LoadMode.File, DEFAULT_LIMITS)
    check_is_program(file)
    header = read_header(file)
    tables_end = header.program_size if header else len(program)
    tables = bytearray(program[:tables_end])
    tables += bytes(-len(tables) % 4)
    name_at = len(tables)
    name = new.encode()
    old_tables = file.first(tables_end)
    for delegate in delegates_of(old_tables, old):
        refer(tables, old_tables, (delegate, program_tables.BACKEND_DELEGATE, "id"), name_at)
    tables += struct.pack("<I", len(name)) + name + b"\0"
    if header:
        base = header.segment_base_offset or len(program)
        add_segments(
            tables, program[base:], alignment_of(base), has_size=header.segment_data_size is not None
        )
    return bytes(tables)


_SIZES_AT = 16
"""The position of `program_size`, `segment_base_offset` and `segment_data_size` in the extended header."""

_PAGE_BYTES = 4096


def alignment_of(position: int) -> int:
    """Return the largest power of two that `position` is a multiple of, up to a page."""
    return min(position & -position, _PAGE_BYTES)


def delegates_of(tables: Cursor, backend_id: str) -> Iterator[int]:
    """Yield the positions of the tables of a backend's delegates, method by method."""
    _, plans, *_ = tables.table(tables.root(), program_tables.PROGRAM)
    names = [field.name for field in program_tables.EXECUTION_PLAN.fields]
    for plan in tables.references(plans, "execution_plan"):
        delegates = tables.table(plan, program_tables.EXECUTION_PLAN)[names.index("delegates")]
        for delegate in tables.references(delegates, "delegates"):
            if tables.string(tables.table(delegate, program_tables.BACKEND_DELEGATE)[0], "id") == backend_id:
                yield delegate


def refer(grown: bytearray, tables: Cursor, place: tuple[int, Layout, str], target: int) -> None:
    """Make a field refer to something that was added.

    Args:
        grown: The tables that are being changed.
        tables: Reads them as they were.
        place: The position of a table, its layout, and the field's name.
        target: The new position that the field shall refer to, after the field's position.

    Raises:
        MalformedProgramError: the table lacks the field.
    """
    position, table_layout, name = place
    reference = tables.field_position(position, table_layout, name)
    if reference == position:
        raise malformed(
            "missing-field", name, "it is absent, so it cannot refer to anything", offset=position
        )
    struct.pack_into("<I", grown, reference, target - reference)


def add_segments(grown: bytearray, segments: bytes, alignment_bytes: int, *, has_size: bool) -> None:
    """Add all segments after the tables, and write their position into the extended header.

    Args:
        grown: The tables, with an extended header.
        segments: The segments, with the bytes between them.
        alignment_bytes: The alignment of the first segment.
        has_size: True if the header states the size of the segments, too.
    """
    tables_end = len(grown)
    base = tables_end + -tables_end % alignment_bytes
    struct.pack_into("<QQ", grown, _SIZES_AT, tables_end, base if segments else 0)
    if has_size:
        struct.pack_into("<Q", grown, _SIZES_AT + 16, len(segments))
    grown += bytes(base - tables_end) + segments


_HEADER = struct.Struct("<4sIQQQ")
_HEADER_AT = 8
_INLINE_ALIGNMENT_BYTES = 16
"""The alignment of inline payloads in programs that ExecuTorch writes."""

_SEGMENT_ALIGNMENT_BYTES = 128
"""The alignment of segments in programs that ExecuTorch writes."""


def replace_payloads(
    program: bytes,
    backend_id: str,
    change: Callable[[bytes], bytes],
    location: DataLocation | None = None,
) -> bytes:
    """Return the same program with other payloads for a backend's delegates.

    The old payloads stay in the file, but nothing refers to them.

    Args:
        program: The bytes of a .pte.
        backend_id: The backend whose delegates are changed.
        change: Returns a new payload for an old one.
        location: The place of the new payloads: in the tables, or in segments after them; by default the
            place of the old ones.

    Raises:
        ProgramError: `program` is not a program, or is malformed in the parts that are read here.
    """
    file = open_bytes(program, LoadMode.File, DEFAULT_LIMITS)
    check_is_program(file)
    header = read_header(file)
    if header is None:
        return replace_payloads(_with_header(program, file.root()), backend_id, change, location)
    tables = file.first(header.program_size)
    delegates = tuple(delegates_of(tables, backend_id))
    payloads = read_payloads(
        tables, tables.table(tables.root(), program_tables.PROGRAM), header, len(program)
    )
    contents = _Contents(program, header, payloads.inline_delegates, payloads.segments)
    references = []
    for delegate in delegates:
        reference = _reference_of(tables, delegate)
        start, size_bytes = payloads.delegate(reference)
        payload = change(program[start : start + size_bytes])
        references.append(contents.add(payload, reference.location if location is None else location))
    return contents.write(tables, delegates, references)


class _Contents:
    """The payloads of a program, to which others are added.

    Args:
        program: The program.
        header: Its extended header.
        inline: The extents of the payloads in the tables.
        segments: The extents of the segments.
    """

    def __init__(
        self,
        program: bytes,
        header: ExtendedHeader,
        inline: tuple[Extent, ...],
        segments: tuple[Extent, ...],
    ) -> None:
        base = header.segment_base_offset or len(program)
        self._tables = program[: header.program_size]
        self._has_size = header.segment_data_size is not None
        self._alignment_bytes = max(alignment_of(base), _SEGMENT_ALIGNMENT_BYTES)
        self._segment_data = bytearray(program[base:])
        self._segments = [Extent(segment.start - base, segment.size_bytes) for segment in segments]
        self._inline = [program[extent.start : extent.end] for extent in inline]

    def add(self, payload: bytes, location: DataLocation) -> tuple[DataLocation, int]:
        """Add a payload, and return its location and its index there."""
        if location is DataLocation.INLINE:
            self._inline.append(payload)
            return location, len(self._inline) - 1
        self._segment_data += bytes(-len(self._segment_data) % _SEGMENT_ALIGNMENT_BYTES)
        self._segments.append(Extent(len(self._segment_data), len(payload)))
        self._segment_data += payload
        return location, len(self._segments) - 1

    def write(
        self, tables: Cursor, delegates: tuple[int, ...], references: list[tuple[DataLocation, int]]
    ) -> bytes:
        """Return the program, whose `delegates` refer to their payloads by `references`."""
        writer = FlatBufferWriter()
        places = {
            (delegate, program_tables.BACKEND_DELEGATE, "processed"): writer.table(
                program_tables.BACKEND_DELEGATE_DATA_REFERENCE, location=location, index=index
            )
            for delegate, (location, index) in zip(delegates, references, strict=True)
        }
        root = tables.root()
        places[root, program_tables.PROGRAM, "backend_delegate_data"] = writer.reference_vector(
            [
                writer.table(
                    program_tables.BACKEND_DELEGATE_INLINE_DATA,
                    data=writer.byte_vector(data, _INLINE_ALIGNMENT_BYTES),
                )
                for data in self._inline
            ]
        )
        places[root, program_tables.PROGRAM, "segments"] = writer.reference_vector(
            [
                writer.table(program_tables.DATA_SEGMENT, offset=each.start, size=each.size_bytes)
                for each in self._segments
            ]
        )
        added = writer.unfinished()
        grown = bytearray(self._tables)
        grown += bytes(-(len(grown) + len(added)) % _INLINE_ALIGNMENT_BYTES) + added
        for field, place in places.items():
            refer(grown, tables, field, len(grown) - place)
        add_segments(grown, bytes(self._segment_data), self._alignment_bytes, has_size=self._has_size)
        return bytes(grown)


def _reference_of(tables: Cursor, delegate: int) -> BackendDelegateDataReference:
    processed = tables.table(delegate, program_tables.BACKEND_DELEGATE)[1]
    location, index = tables.table(processed, program_tables.BACKEND_DELEGATE_DATA_REFERENCE)
    return BackendDelegateDataReference(DataLocation(location), index)


def _with_header(program: bytes, root: int) -> bytes:
    """Return the program with an extended header without segments; the tables after it move as a whole.

    Args:
        program: A program without an extended header.
        root: The position of its root table.
    """
    header = _HEADER.pack(b"eh00", _HEADER.size, len(program) + _HEADER.size, 0, 0)
    return struct.pack("<I", root + _HEADER.size) + program[4:_HEADER_AT] + header + program[_HEADER_AT:]
