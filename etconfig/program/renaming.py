"""Hand the delegates of a program to a backend of another name, and leave everything else as it is."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from etconfig.program import layout
from etconfig.program.cursor import Cursor
from etconfig.program.header import ExtendedHeader, read_header
from etconfig.program.identify import check_is_program
from etconfig.program.limits import DEFAULT_LIMITS
from etconfig.program.source import open_bytes

_SIZES_AT = 16
"""Where the extended header holds `program_size` and `segment_base_offset`."""

_PAGE_BYTES = 4096


def rename_backend(program: bytes, old: str, new: str) -> bytes:
    """The same program, in which every delegate of backend `old` is one of backend `new`.

    No table moves: the new name is added after them, of whatever length, and what referred to the old name
    refers to it. Segments keep the alignment that they had.

    Raises:
        ProgramError: `program` is no program, or is malformed where this reads it.
    """
    file = open_bytes(program, "copy", DEFAULT_LIMITS)
    check_is_program(file)
    header = read_header(file)
    tables_end = header.program_size if header else len(program)
    tables = bytearray(program[:tables_end])
    tables += bytes(-len(tables) % 4)
    name_at = len(tables)
    name = new.encode()
    for reference in _references(file.first(tables_end), old):
        struct.pack_into("<I", tables, reference, name_at - reference)
    tables += struct.pack("<I", len(name)) + name + b"\0"
    if header:
        _add_segments(tables, program, header)
    return bytes(tables)


def _references(tables: Cursor, backend_id: str) -> Iterator[int]:
    """Where the delegates of `backend_id` refer to its name."""
    _, plans, *_ = tables.table(tables.root(), layout.PROGRAM)
    names = [field.name for field in layout.EXECUTION_PLAN.fields]
    for plan in tables.references(plans, "execution_plan"):
        delegates = tables.table(plan, layout.EXECUTION_PLAN)[names.index("delegates")]
        for delegate in tables.references(delegates, "delegates"):
            if tables.string(tables.table(delegate, layout.BACKEND_DELEGATE)[0], "id") == backend_id:
                yield tables.field_position(delegate, layout.BACKEND_DELEGATE, "id")


def _add_segments(tables: bytearray, program: bytes, header: ExtendedHeader) -> None:
    """Add what followed the tables, and tell the header where that is now."""
    old_base = header.segment_base_offset or len(program)
    alignment = min(old_base & -old_base, _PAGE_BYTES)
    base = len(tables) + -len(tables) % alignment
    struct.pack_into("<QQ", tables, _SIZES_AT, len(tables), base if header.segment_base_offset else 0)
    tables += bytes(base - len(tables)) + program[old_base:]
