"""Checks of a shared library's header, made before the library is loaded, which runs its code."""

from __future__ import annotations

import os
import platform
import stat
import struct
from pathlib import Path
from typing import BinaryIO

from etconfig.plugin.v1 import LibraryError

_ELF = b"\x7fELF"
_HEADER_BYTES = 64
"""The size of the header of 64-bit files; the header of 32-bit files is smaller."""
_MACHINE_END = 20
_SHARED_OBJECT = 3
_CLASS_BITS = {1: 32, 2: 64}
_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "arm64", 243: "riscv64"}
"""The architectures by their number in ELF files, named as in the fact `cpu.arch`."""

_TABLES = {
    32: ("I", 28, 32, (42, 44), (46, 48), (4, 16)),
    64: ("Q", 32, 40, (54, 56), (58, 60), (8, 32)),
}
"""By bits: the type of offsets; the places in the header of the offsets of the tables of segments and
sections, and of the size and number of the entries of each; the places of a segment's offset and size."""

_SEAL = b"ETAP"
"""The beginning of a seal, see `etconfig_tvm.seal`."""

_NO_LIBRARY = "it is not a shared library"
_MAGICS = {b"\xcf\xfa\xed\xfe": "macOS", b"MZ\x90\x00": "Windows"}


def open_library(path: Path) -> BinaryIO:
    """Open a library, without waiting for a writer if it is a pipe. Raises OSError or ValueError."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    return open(path, "rb", opener=lambda name, _: os.open(name, flags))  # Path.open has no opener


def check_library(file: BinaryIO, path: Path) -> None:
    """Refuse a file that is not a shared library for this system and architecture.

    Args:
        file: The open file.
        path: Its path, for messages.

    Raises:
        LibraryError: it is none, or is one for another system or architecture.
    """
    problem = _problem(_header(file, path))
    if problem is not None:
        raise LibraryError(library=str(path), reason=problem, help="compile the model for this device")


def check_kind(file: BinaryIO, path: Path, arch: str | None) -> None:
    """Refuse a file that is not a shared library, or is one for another architecture, on whatever system.

    Args:
        file: The open file.
        path: Its path, for messages.
        arch: The architecture, as in the fact `cpu.arch`; None for any. Libraries for Linux name theirs.

    Raises:
        LibraryError: it is not one.
    """
    header = _header(file, path)
    if header[:4] in _MAGICS:
        return
    machine = machine_of(header)
    if machine is None:
        raise LibraryError(library=str(path), reason=_NO_LIBRARY, help="give what `export_library` wrote")
    if arch is not None and machine != arch:
        raise LibraryError(
            library=str(path),
            reason=f"it is for {machine}, and the target is {arch}",
            help="give the target that it was compiled for",
        )


def check_end(file: BinaryIO, path: Path) -> None:
    """Refuse a library whose seal was not found if it ends too early, or is followed by a part of a seal.

    The system would end a process that uses what is missing. Other tools append bytes, too, such as patchelf.

    Raises:
        LibraryError: it is cut off, or its seal is damaged.
    """
    file.seek(0)
    problem = _end_problem(file, file.read(_HEADER_BYTES))
    if problem is not None:
        raise LibraryError(
            library=str(path), reason=problem, help="copy it again, or compile the model again"
        )


def _header(file: BinaryIO, path: Path) -> bytes:
    """Return the beginning of a library. Raises LibraryError if there is nothing to read."""
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or not found.st_size:
        reason = "it is empty" if stat.S_ISREG(found.st_mode) else "it is not a file"
        raise LibraryError(library=str(path), reason=reason, help="compile the model for this device")
    file.seek(0)
    return file.read(_HEADER_BYTES)


def machine_of(header: bytes) -> str | None:
    """Return the architecture of a shared library for Linux, or None if it is something else."""
    if header[:4] != _ELF or len(header) < _MACHINE_END:
        return None
    kind, machine = struct.unpack_from(f"{'<' if header[5] == 1 else '>'}HH", header, 16)
    return _MACHINES.get(machine, f"machine {machine}") if kind == _SHARED_OBJECT else None


def _problem(header: bytes) -> str | None:
    system = platform.system()
    if header[:4] in _MAGICS:
        name = _MAGICS[header[:4]]
        matches = name == {"Darwin": "macOS"}.get(system, system)
        return None if matches else f"it is a library for {name}, and this is {system}"
    machine = machine_of(header)
    if machine is None:
        return _NO_LIBRARY
    if system != "Linux":
        return f"it is a library for Linux, and this is {system}"
    return _machine_problem(machine, _CLASS_BITS.get(header[4], 0))


def _end_problem(file: BinaryIO, header: bytes) -> str | None:
    """Return the problem of an ELF file that ends elsewhere than its tables say."""
    bits = _CLASS_BITS.get(header[4], 0) if header[:4] == _ELF else 0
    if not bits:
        return None
    size_bytes = file.seek(0, os.SEEK_END)
    try:
        needed_bytes = _needed_bytes(file, header, bits)
    except struct.error:
        return f"it is cut off: its {size_bytes} bytes end in the middle of a table"
    if needed_bytes > size_bytes:
        return f"it is cut off: {size_bytes} of {needed_bytes} bytes are there"
    file.seek(needed_bytes)
    return "it is damaged: its checksum is not whole" if file.read(len(_SEAL)) == _SEAL else None


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
