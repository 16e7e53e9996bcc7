"""Checks of a shared library's header, made before the library is loaded, which runs its code."""

from __future__ import annotations

import os
import platform
import struct
from pathlib import Path
from typing import BinaryIO

from etconfig.plugin.v1 import LibraryError

_ELF = b"\x7fELF"
_HEADER_BYTES = 64
"""The size of the header of 64-bit files; that of 32-bit files is smaller."""
_MACHINE_END = 20
_SHARED_OBJECT = 3
_CLASS_BITS = {1: 32, 2: 64}
_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "arm64", 243: "riscv64"}
"""The architectures by their number in ELF files, named as in the fact `cpu.arch`."""

_TABLES = {
    32: ("I", 28, 32, (42, 44), (46, 48), (4, 16)),
    64: ("Q", 32, 40, (54, 56), (58, 60), (8, 32)),
}
"""By bits: the type of offsets; the places in the header of the offset of the table of segments, of that of
sections, and of the size and number of the entries of each; the places of a segment's offset and size."""

_MAGICS = {b"\xcf\xfa\xed\xfe": "macOS", b"MZ\x90\x00": "Windows"}


def check_library(path: Path) -> None:
    """Refuse a file that is not a whole shared library for this system and architecture.

    Raises:
        LibraryError: it is none, is cut off, or is one for another system or architecture.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            problem = _problem(header) or _truncation(file, header)
    except OSError as error:
        reason = error.strerror or str(error)
        raise LibraryError(library=str(path), reason=reason, help="correct the path") from error
    if problem is not None:
        raise LibraryError(library=str(path), reason=problem, help="compile the model for this device")


def _problem(header: bytes) -> str | None:
    system = platform.system()
    if header[:4] in _MAGICS:
        name = _MAGICS[header[:4]]
        matches = name == {"Darwin": "macOS"}.get(system, system)
        return None if matches else f"it is a library for {name}, and this is {system}"
    if header[:4] != _ELF or len(header) < _MACHINE_END:
        return "it is not a shared library"
    if system != "Linux":
        return f"it is a library for Linux, and this is {system}"
    order = "<" if header[5] == 1 else ">"
    kind, machine = struct.unpack_from(f"{order}HH", header, 16)
    if kind != _SHARED_OBJECT:
        return "it is not a shared library"
    return _machine_problem(_MACHINES.get(machine, f"machine {machine}"), _CLASS_BITS.get(header[4], 0))


def _truncation(file: BinaryIO, header: bytes) -> str | None:
    """Return the problem of an ELF file that ends too early.

    The system would end a process that uses what is missing.
    """
    bits = _CLASS_BITS.get(header[4], 0) if header[:4] == _ELF else 0
    if not bits:
        return None
    size_bytes = file.seek(0, os.SEEK_END)
    try:
        needed_bytes = _needed_bytes(file, header, bits)
    except struct.error:
        return f"it is cut off: its {size_bytes} bytes end in the middle of a table"
    return (
        None
        if needed_bytes <= size_bytes
        else f"it is cut off: {size_bytes} of {needed_bytes} bytes are there"
    )


def _needed_bytes(file: BinaryIO, header: bytes, bits: int) -> int:
    """Return where the last table or segment ends. Raises struct.error if a table is not whole."""
    kind, segments_at, sections_at, segment_table, section_table, (place, length) = _TABLES[bits]
    order = "<" if header[5] == 1 else ">"

    def read(data: bytes, code: str, offset: int) -> int:
        return int(struct.unpack_from(order + code, data, offset)[0])

    segments, sections = (read(header, kind, at) for at in (segments_at, sections_at))
    segment_bytes, segment_count = (read(header, "H", at) for at in segment_table)
    section_bytes, section_count = (read(header, "H", at) for at in section_table)
    file.seek(segments)
    table = file.read(segment_bytes * segment_count)
    starts = range(0, segment_bytes * segment_count, segment_bytes or 1)
    ends = [read(table, kind, at + place) + read(table, kind, at + length) for at in starts]
    return max(*ends, sections + section_bytes * section_count, 0)


def _machine_problem(found: str, bits: int) -> str | None:
    here = {"aarch64": "arm64", "AMD64": "x86_64", "i686": "x86"}.get(platform.machine(), platform.machine())
    bits_here = struct.calcsize("P") * 8
    if found == here.replace("armv7l", "arm") and bits == bits_here:
        return None
    return f"it is for {found} with {bits} bits, and this process is {here} with {bits_here}"
