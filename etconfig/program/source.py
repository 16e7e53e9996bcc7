"""`open_bytes`: the bytes of a program from memory, from a file read on demand, or from a mapped file."""

from __future__ import annotations

import io
import mmap
import os
import stat
import sys
import weakref
from typing import Literal, TypeAlias

from etconfig.parameters import check_type, home_help
from etconfig.program.cursor import Cursor
from etconfig.program.limits import Limits
from etconfig.program.process_lock import ProcessLock
from etconfig.program.program_errors import NO_MEMORY, limit_exceeded, unreadable

ProgramSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview"
"""The path of a .pte file, or its bytes."""

_EXPECTED = "a path, as str or pathlib.Path, or the bytes of the file"

LoadMode: TypeAlias = Literal["copy", "mmap"]
"""The way in which a file comes into memory: `copy` reads it, `mmap` maps it and lets the system read pages.

`copy` reads each part of the file on first use, into private memory: opening takes the same time and
memory whatever the size of the constants, and loading a method reads its constants. Bytes that were
read no longer depend on the file. If the file becomes shorter before a part was read, that part is a
TruncatedProgramError.

A mapping reads nothing ahead and shares its pages with other processes. But truncating the file while
it is mapped kills the process (SIGBUS), and writing to it changes bytes after they were verified. Map
only files that nobody else writes; replacing a file by renaming a new one over it is safe.
"""

FILE_BLOCK_BYTES = 256 << 10
"""The size of the parts in which a file is read; a file that is not larger is read at once."""


def open_bytes(source: ProgramSource, load_mode: LoadMode, limits: Limits) -> Cursor:
    """Return a cursor over the bytes of `source`, which are read-only.

    Immutable bytes are used as they are. Mutable ones are copied, because verified bytes must not change.

    Raises:
        UnreadableProgramError: the file cannot be read.
        UnsupportedProgramError: it exceeds `limits.max_file_bytes`.
        ValueError: `load_mode` is unknown.
        TypeError: `source` is neither a path nor bytes.
    """
    if load_mode not in ("copy", "mmap"):
        raise ValueError(f"load_mode is {load_mode!r}; expected 'copy' or 'mmap'")
    check_type("source", source, (str, os.PathLike, bytes, bytearray, memoryview), _EXPECTED)
    if isinstance(source, (str, os.PathLike)):
        return _open_file(source, load_mode, limits)
    view = memoryview(source)
    _check_size(view.nbytes, limits)
    if not (view.readonly and view.c_contiguous):
        view = memoryview(bytes(view))
    return Cursor(view.cast("B"), view.nbytes, limits)


def _open_file(path: str | os.PathLike[str], load_mode: LoadMode, limits: Limits) -> Cursor:
    try:
        # One open file serves the checks and every read, so that nobody can swap it in between.
        file = open(path, "rb", buffering=0, opener=_open_without_blocking)  # noqa: SIM115  # see _Blocks
        try:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise unreadable(
                    "unreadable-file", "it is not a regular file", advice="give the path of a .pte"
                )
            _check_size(status.st_size, limits)
            if load_mode == "copy" and status.st_size > FILE_BLOCK_BYTES:
                blocks = _Blocks(file, status.st_size)
                return Cursor(blocks.data, status.st_size, limits, blocks.fetch)
            # the system refuses to map an empty file
            data = _map(file) if load_mode == "mmap" and status.st_size else _copy(file, status.st_size)
        except BaseException:
            file.close()
            raise
    except (OSError, ValueError, MemoryError) as error:
        raise _not_read(error, home_help(path)) from error
    file.close()
    return Cursor(data, len(data), limits)


def _not_read(error: Exception, advice: str | None = None) -> Exception:
    reason = getattr(error, "strerror", None) or str(error) or NO_MEMORY
    return unreadable("unreadable-file", reason, advice=advice)


class _Blocks:
    """The bytes of a file in private memory, read block by block on first use.

    The file stays open as long as anything uses this object; views of `data` live longer.

    Attributes:
        data: All bytes; those that were not fetched yet read as zero, and take no memory.
    """

    def __init__(self, file: io.FileIO, size_bytes: int) -> None:
        self._memory = memoryview(_reserve(size_bytes))
        self.data = self._memory.toreadonly()
        self._file = file
        self._is_here = bytearray(-(-size_bytes // FILE_BLOCK_BYTES))
        self._lock = ProcessLock()
        weakref.finalize(self, file.close)

    def fetch(self, start: int, end: int) -> int:
        """Bring the bytes from `start` to `end` into memory.

        Returns:
            `end`, or the position where the bytes end if the file is shorter now.

        Raises:
            UnreadableProgramError: the system cannot read the file.
        """
        with self._lock.current():
            for block in range(start // FILE_BLOCK_BYTES, -(-end // FILE_BLOCK_BYTES)):
                if not self._is_here[block]:
                    here = self._read(block * FILE_BLOCK_BYTES)
                    if here < min((block + 1) * FILE_BLOCK_BYTES, len(self._memory)):
                        return min(here, end)
                    self._is_here[block] = True  # only now: a block that could not be read is tried again
        return end

    def _read(self, start: int) -> int:
        """Read the block at `start`, and return the position where the bytes in it end."""
        end = min(start + FILE_BLOCK_BYTES, len(self._memory))
        try:
            while start < end and (count := _read_at(self._file, start, self._memory[start:end])):
                start += count
        except OSError as error:
            raise _not_read(error) from error
        return start


def _read_at(file: io.FileIO, position: int, target: memoryview) -> int:
    if sys.platform == "win32":
        file.seek(position)
        return file.readinto(target) or 0
    return os.preadv(
        file.fileno(), [target], position
    )  # no seek: a forked process shares the file's position


def _reserve(size_bytes: int) -> mmap.mmap:
    """Return memory whose pages are taken when they are first written."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size_bytes)
    # not shared, which is the default: a forked process would write into the memory of its parent
    return mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _open_without_blocking(path: str, flags: int) -> int:
    """Open even a named pipe at once instead of waiting for a writer; regular files ignore the flag."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _copy(file: io.FileIO, size_bytes: int) -> memoryview:
    """Read up to `size_bytes`. If the file shrinks meanwhile, the result is short; reading it then fails."""
    buffer = memoryview(bytearray(size_bytes))
    filled = 0
    while count := file.readinto(buffer[filled:]):
        filled += count
    return buffer[:filled].toreadonly()


def _map(file: io.FileIO) -> memoryview:
    """Map the whole file. The mapping lasts as long as its last view."""
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _check_size(size_bytes: int, limits: Limits) -> None:
    if size_bytes > limits.max_file_bytes:
        raise limit_exceeded("file", f"a file of {size_bytes} bytes", "max_file_bytes", limits.max_file_bytes)
