"""Checks of a shared library's header, made before the library is loaded, which runs its code."""

from __future__ import annotations

import platform
import struct
from pathlib import Path

from etconfig.plugin.v1 import LibraryError

_ELF = b"\x7fELF"
_HEADER_BYTES = 20
_SHARED_OBJECT = 3
_CLASS_BITS = {1: 32, 2: 64}
_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "arm64", 243: "riscv64"}
"""The architectures by their number in ELF files, named as in the fact `cpu.arch`."""

_MAGICS = {b"\xcf\xfa\xed\xfe": "macOS", b"MZ\x90\x00": "Windows"}


def check_library(path: Path) -> None:
    """Refuse a file that is not a shared library for this system and architecture.

    Raises:
        LibraryError: it is none, or one for another system or architecture.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        raise LibraryError(library=str(path), reason=reason, help="correct the path") from error
    problem = _problem(header)
    if problem is not None:
        raise LibraryError(library=str(path), reason=problem, help="compile the model for this device")


def _problem(header: bytes) -> str | None:
    system = platform.system()
    if header[:4] in _MAGICS:
        name = _MAGICS[header[:4]]
        matches = name == {"Darwin": "macOS"}.get(system, system)
        return None if matches else f"it is a library for {name}, and this is {system}"
    if header[:4] != _ELF or len(header) < _HEADER_BYTES:
        return "it is not a shared library"
    if system != "Linux":
        return f"it is a library for Linux, and this is {system}"
    order = "<" if header[5] == 1 else ">"
    kind, machine = struct.unpack_from(f"{order}HH", header, 16)
    if kind != _SHARED_OBJECT:
        return "it is not a shared library"
    return _machine_problem(_MACHINES.get(machine, f"machine {machine}"), _CLASS_BITS.get(header[4], 0))


def _machine_problem(found: str, bits: int) -> str | None:
    here = {"aarch64": "arm64", "AMD64": "x86_64", "i686": "x86"}.get(platform.machine(), platform.machine())
    bits_here = struct.calcsize("P") * 8
    if found == here.replace("armv7l", "arm") and bits == bits_here:
        return None
    return f"it is for {found} with {bits} bits, and this process is {here} with {bits_here}"
