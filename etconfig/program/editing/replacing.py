"""`replace_payloads`: give a program's delegates other payloads, or move these; change nothing else."""

from __future__ import annotations

import struct
from collections.abc import Callable

from etconfig.flatbuffer.writer import FlatBufferWriter
from etconfig.program import layout
from etconfig.program.cursor import Cursor, Extent
from etconfig.program.editing.appending import add_segments, alignment_of, delegates_of, refer
from etconfig.program.identify import ExtendedHeader, check_is_program, read_header
from etconfig.program.limits import DEFAULT_LIMITS
from etconfig.program.model import BackendDelegateDataReference, DataLocation
from etconfig.program.payload_reader import read_payloads
from etconfig.program.source import LoadMode, open_bytes

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
    payloads = read_payloads(tables, tables.table(tables.root(), layout.PROGRAM), header, len(program))
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
            (delegate, layout.BACKEND_DELEGATE, "processed"): writer.table(
                layout.BACKEND_DELEGATE_DATA_REFERENCE, location=location, index=index
            )
            for delegate, (location, index) in zip(delegates, references, strict=True)
        }
        root = tables.root()
        places[root, layout.PROGRAM, "backend_delegate_data"] = writer.reference_vector(
            [
                writer.table(
                    layout.BACKEND_DELEGATE_INLINE_DATA,
                    data=writer.byte_vector(data, _INLINE_ALIGNMENT_BYTES),
                )
                for data in self._inline
            ]
        )
        places[root, layout.PROGRAM, "segments"] = writer.reference_vector(
            [
                writer.table(layout.DATA_SEGMENT, offset=each.start, size=each.size_bytes)
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
    processed = tables.table(delegate, layout.BACKEND_DELEGATE)[1]
    location, index = tables.table(processed, layout.BACKEND_DELEGATE_DATA_REFERENCE)
    return BackendDelegateDataReference(DataLocation(location), index)


def _with_header(program: bytes, root: int) -> bytes:
    """Return the program with an extended header without segments; the tables after it move as a whole.

    Args:
        program: A program without an extended header.
        root: The position of its root table.
    """
    header = _HEADER.pack(b"eh00", _HEADER.size, len(program) + _HEADER.size, 0, 0)
    return struct.pack("<I", root + _HEADER.size) + program[4:_HEADER_AT] + header + program[_HEADER_AT:]
