"""Where a program's bytes come from: memory, a file that is read once, or a mapped file."""

from __future__ import annotations

import io
import mmap
import os
import stat
from typing import Literal, TypeAlias

from etconfig.program.faults import limit_exceeded, unreadable
from etconfig.program.limits import Limits

ProgramSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview"
"""The path of a .pte file, or its bytes."""

LoadMode: TypeAlias = Literal["copy", "mmap"]
"""How a file comes into memory: `copy` reads it, `mmap` maps it and reads pages as they are used.

A mapping opens a file of any size at once and shares its pages with other processes, but whoever
truncates the file while it is mapped kills the process (SIGBUS), and whoever writes to it changes
what was verified. Map only files that nobody else writes: files that are replaced by renaming a
new one over them are safe.
"""


def load_bytes(source: ProgramSource, load_mode: LoadMode, limits: Limits) -> memoryview:
    """The bytes of `source`, read-only.

    Immutable bytes are used as they are, mutable ones are copied: what was verified must not change.

    Raises:
        UnreadableProgramError: the file cannot be read.
        UnsupportedProgramError: it exceeds `limits.max_file_bytes`.
        ValueError: there is no such `load_mode`.
    """
    if load_mode not in ("copy", "mmap"):
        raise ValueError(f"load_mode is {load_mode!r}; expected 'copy' or 'mmap'")
    if isinstance(source, (str, os.PathLike)):
        return _load_file(source, load_mode, limits)
    view = memoryview(source)
    _check_size(view.nbytes, limits)
    if not (view.readonly and view.c_contiguous):
        view = memoryview(bytes(view))
    return view.cast("B")


def _load_file(path: str | os.PathLike[str], load_mode: LoadMode, limits: Limits) -> memoryview:
    try:
        # One open serves the check and the read, so that nobody can swap the file in between.
        with open(path, "rb", buffering=0, opener=_open_without_blocking) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise unreadable(
                    "unreadable-file", "it is not a regular file", advice="give the path of a .pte"
                )
            _check_size(status.st_size, limits)
            return _map(file) if load_mode == "mmap" and status.st_size else _copy(file, status.st_size)
    except (OSError, ValueError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "there is not enough memory"
        raise unreadable("unreadable-file", reason) from error


def _open_without_blocking(path: str, flags: int) -> int:
    """Open even a named pipe at once; for regular files the flag means nothing."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _copy(file: io.FileIO, size_bytes: int) -> memoryview:
    """Read up to `size_bytes`. A file that shrinks meanwhile is short; reading its contents tells."""
    buffer = memoryview(bytearray(size_bytes))
    filled = 0
    while count := file.readinto(buffer[filled:]):
        filled += count
    return buffer[:filled].toreadonly()


def _map(file: io.FileIO) -> memoryview:
    """Map the whole file. The mapping goes away when the last view of it does."""
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _check_size(size_bytes: int, limits: Limits) -> None:
    if size_bytes > limits.max_file_bytes:
        raise limit_exceeded("file", f"a file of {size_bytes} bytes", "max_file_bytes", limits.max_file_bytes)
