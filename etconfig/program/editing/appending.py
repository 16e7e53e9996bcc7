"""The steps of changing a program: no table moves, and new tables are added after the old ones."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from etconfig.flatbuffer.layout import Layout
from etconfig.program import layout
from etconfig.program.cursor import Cursor
from etconfig.program.program_errors import malformed

_SIZES_AT = 16
"""The position of `program_size`, `segment_base_offset` and `segment_data_size` in the extended header."""

_PAGE_BYTES = 4096


def alignment_of(position: int) -> int:
    """Return the largest power of two that `position` is a multiple of, up to a page."""
    return min(position & -position, _PAGE_BYTES)


def delegates_of(tables: Cursor, backend_id: str) -> Iterator[int]:
    """Yield the positions of the tables of a backend's delegates, method by method."""
    _, plans, *_ = tables.table(tables.root(), layout.PROGRAM)
    names = [field.name for field in layout.EXECUTION_PLAN.fields]
    for plan in tables.references(plans, "execution_plan"):
        delegates = tables.table(plan, layout.EXECUTION_PLAN)[names.index("delegates")]
        for delegate in tables.references(delegates, "delegates"):
            if tables.string(tables.table(delegate, layout.BACKEND_DELEGATE)[0], "id") == backend_id:
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
