"""`rename_backend`: give the backend of a program's delegates another name, and change nothing else."""

from __future__ import annotations

import struct

from etconfig.program import layout
from etconfig.program.editing.appending import add_segments, alignment_of, delegates_of, refer
from etconfig.program.identify import check_is_program, read_header
from etconfig.program.limits import DEFAULT_LIMITS
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
        refer(tables, old_tables, (delegate, layout.BACKEND_DELEGATE, "id"), name_at)
    tables += struct.pack("<I", len(name)) + name + b"\0"
    if header:
        base = header.segment_base_offset or len(program)
        add_segments(
            tables, program[base:], alignment_of(base), has_size=header.segment_data_size is not None
        )
    return bytes(tables)
