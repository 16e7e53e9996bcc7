"""The extended header of a program: where its tables end and its segments start.

Source: executorch schema/extended_header.cpp and runtime/executor/program.cpp.
"""

from __future__ import annotations

from typing import NamedTuple

from etconfig.program.cursor import Cursor
from etconfig.program.program_errors import malformed, truncated

_MAGIC = b"eh00"
_START = 8
_LENGTH_WITHOUT_SEGMENT_DATA_SIZE = 24
_LENGTH_WITH_SEGMENT_DATA_SIZE = 32
_REGION = "extended header"


class ExtendedHeader(NamedTuple):
    """The header after the file's identifier. A program whose segments are all empty lacks it.

    Attributes:
        length: The size of the header itself, in bytes.
        program_size: The bytes from the start of the file to the end of the tables.
        segment_base_offset: The position of the first segment, from which the offsets of all of them count;
            0 without segments.
        segment_data_size: The bytes of all segments; None in files older than ExecuTorch 1.0.
    """

    length: int
    program_size: int
    segment_base_offset: int
    segment_data_size: int | None


def read_header(file: Cursor) -> ExtendedHeader | None:
    """Return the extended header, verified against the file's size, or None if there is none.

    Raises:
        MalformedProgramError: the header contradicts itself.
        TruncatedProgramError: the file is smaller than the header says.
    """
    if file.head(_START + len(_MAGIC))[_START:] != _MAGIC:
        return None
    length = file.u32(_START + 4, _REGION)
    if length < _LENGTH_WITHOUT_SEGMENT_DATA_SIZE:
        detail = f"its length is {length}, at least {_LENGTH_WITHOUT_SEGMENT_DATA_SIZE} is needed"
        raise malformed("bad-header", _REGION, detail, offset=_START + 4)
    has_size = length >= _LENGTH_WITH_SEGMENT_DATA_SIZE
    header = ExtendedHeader(
        length=length,
        program_size=file.u64(_START + 8, _REGION),
        segment_base_offset=file.u64(_START + 16, _REGION),
        segment_data_size=file.u64(_START + 24, _REGION) if has_size else None,
    )
    _check_header(header, file.size_bytes)
    return header


def _check_header(header: ExtendedHeader, file_bytes: int) -> None:
    """Raise unless header, tables and segments follow each other within the file."""
    base, segment_bytes = header.segment_base_offset, header.segment_data_size or 0
    if header.program_size < _START + header.length:
        detail = f"the program's size is {header.program_size}, which leaves no room for the header"
        raise malformed("bad-header", _REGION, detail, offset=_START + 8)
    if header.program_size > file_bytes:
        raise truncated(_REGION, 0, header.program_size, file_bytes)
    if base == 0 and segment_bytes == 0:
        return
    if base < header.program_size:
        detail = f"the segments start at {base}, inside the program, which ends at {header.program_size}"
        raise malformed("bad-header", _REGION, detail, offset=_START + 16)
    if base + segment_bytes > file_bytes:
        raise truncated("segments", base, segment_bytes, file_bytes - base)
