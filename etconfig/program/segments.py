"""Reads the list of segments that follow the tables of a program or a data file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from etconfig.program import layout
from etconfig.program.cursor import Cursor, Extent
from etconfig.program.program_errors import malformed, truncated


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
        offset, size_bytes = cursor.table(table, layout.DATA_SEGMENT)
        if size_bytes and not base:
            raise malformed(
                "missing-header", "", "the file has segments, but no header says where they start"
            )
        if base + offset + size_bytes > end:
            raise truncated("", base + offset, size_bytes, end - base - offset)
        return Extent(base + offset, size_bytes)

    segments = cursor.each(position, "segments", read) if position else ()
    _check_disjoint(segments)
    return segments


def gaps_between(start: int, segments: Sequence[Extent], end: int) -> list[Extent]:
    """Return the extents from `start` to `end` outside of all `segments`, which share no bytes, in order."""
    gaps = []
    for segment in sorted(segments):
        if segment.start > start:
            gaps.append(Extent(start, segment.start - start))
        start = max(start, segment.end)
    return [*gaps, Extent(start, end - start)] if start < end else gaps


def _check_disjoint(segments: Sequence[Extent]) -> None:
    """Check that no two segments share bytes: each belongs to one payload alone."""
    by_start = sorted((segment.start, segment.end, i) for i, segment in enumerate(segments))
    occupied = [entry for entry in by_start if entry[0] < entry[1]]
    for (_, end, first), (start, _, second) in pairwise(occupied):
        if start < end:
            detail = f"it starts before segments[{first}] ends, at {end}"
            raise malformed("overlapping-segments", f"segments[{second}]", detail, offset=start)
