"""`open_bytes`: the bytes of a program from memory, a file, a mapped file, or a data loader."""

from __future__ import annotations

import enum
import io
import mmap
import os
import stat
import sys
import weakref
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from etconfig.base.parameters import check_type, home_help
from etconfig.diagnostics.error_text import error_text
from etconfig.program.cursor import Cursor
from etconfig.program.limits import Limits
from etconfig.program.process_lock import ProcessLock
from etconfig.program.program_errors import NO_MEMORY, limit_exceeded, unreadable

if TYPE_CHECKING:
    from typing import BinaryIO


@runtime_checkable
class DataLoader(Protocol):
    """The bytes of a program, in parts, from wherever the application has them.

    Both methods may be called from any thread, one call at a time. The name and the methods follow
    ExecuTorch's DataLoader.
    """

    def size(self) -> int:
        """Return the number of bytes of the program."""

    def load(self, offset: int, size: int) -> bytes | bytearray | memoryview:
        """Return `size` bytes from `offset` on, which are copied; the same ones each time.

        Fewer bytes are a TruncatedProgramError. An exception becomes the cause of an
        UnreadableProgramError.
        """


ProgramSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | DataLoader | BinaryIO"
"""The path of a .pte file, its bytes, an open file, or a `DataLoader`."""

_EXPECTED = (
    "a path, as str or pathlib.Path, the bytes of the file, a binary file that can seek, or an object with "
    "size() and load(offset, size)"
)


class LoadMode(enum.Enum):
    """The way in which a file comes into memory. The names come from ExecuTorch's Module::LoadMode.

    A mapping reads nothing ahead and shares its pages with other processes. But truncating the file while
    it is mapped kills the process (SIGBUS), and writing to it changes bytes after they were verified. Map
    only files that nobody else writes; replacing a file by renaming a new one over it is safe.
    """

    File = "file"
    """Read each part on first use, into private memory.

    Opening takes the same time and memory whatever the size of the constants, and loading a method reads
    its constants. Bytes that were read no longer depend on the file; if it becomes shorter before a part
    was read, that part is a TruncatedProgramError. The payload of a delegate lies in memory of its own,
    which is freed as soon as the backend frees it; it is read again for the next Method.
    """
    Mmap = "mmap"
    """Map the file, and let the system read pages."""
    MmapUseMlock = "mmap-use-mlock"
    """Map the file, and lock its pages into memory; an error if the system refuses."""
    MmapUseMlockIgnoreErrors = "mmap-use-mlock-ignore-errors"
    """Map the file, and lock its pages into memory if the system allows it."""
    MmapUseMadvise = "mmap-use-madvise"
    """Map the file, and advise the system that all of it will soon be read, in order."""


FILE_BLOCK_BYTES = 256 << 10
"""The size of the parts in which a file is read; a file that is not larger is read at once."""

APART_BYTES = 4 * FILE_BLOCK_BYTES
"""The size from which on a payload gets memory of its own, which can be freed."""


def open_bytes(source: ProgramSource, load_mode: LoadMode, limits: Limits) -> Cursor:
    """Return a cursor over the bytes of `source`, which are read-only.

    Immutable bytes are used as they are. Mutable ones are copied, because verified bytes must not change.

    Raises:
        UnreadableProgramError: the file cannot be read.
        UnsupportedProgramError: it exceeds `limits.max_file_bytes`.
        ValueError: `load_mode` maps a file, but `source` is not the path of one.
        TypeError: `source` is none of these, or `load_mode` is not a LoadMode.
    """
    check_type("load_mode", load_mode, LoadMode, "a member of etconfig.LoadMode, such as LoadMode.Mmap")
    check_source("source", source)
    if isinstance(source, (str, os.PathLike)):
        return _open_file(source, load_mode, limits)
    if load_mode is not LoadMode.File:
        kind = type(source).__name__
        raise ValueError(f"load_mode {load_mode.name} is for the path of a file, given {kind}")
    if not isinstance(source, (bytes, bytearray, memoryview)):
        return _open_loader(source if isinstance(source, DataLoader) else _FileLoader(source), limits)
    view = memoryview(source)
    _check_size(view.nbytes, limits)
    if not (view.readonly and view.c_contiguous):
        view = memoryview(bytes(view))
    return Cursor(view.cast("B"), view.nbytes, limits)


def check_source(argument: str, source: object, expected: str = _EXPECTED) -> None:
    """Refuse what is not a program's source. Raises TypeError."""
    is_file = all(callable(getattr(source, name, None)) for name in ("read", "seek", "tell"))
    is_binary_file = is_file and not (isinstance(source, io.TextIOBase) or type(source) is type)
    if not is_binary_file and not isinstance(source, DataLoader):
        check_type(argument, source, (str, os.PathLike, bytes, bytearray, memoryview), expected)


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
            if load_mode is LoadMode.File and status.st_size > FILE_BLOCK_BYTES:
                part = _FilePart(file)
                blocks = _Blocks(part.read, status.st_size, part.stamp)
                weakref.finalize(blocks, file.close)
                return Cursor(blocks.data, status.st_size, limits, blocks.fetch, blocks.apart, blocks.forget)
            if load_mode is not LoadMode.File and status.st_size:  # the system refuses to map an empty file
                mapped = _Mapped(file, load_mode)
                return Cursor(mapped.data, len(mapped.data), limits, apart=mapped.apart)
            data = _copy(file, status.st_size)
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


def _open_loader(loader: DataLoader, limits: Limits) -> Cursor:
    part = _LoaderPart(loader)
    size_bytes = part.size()
    _check_size(size_bytes, limits)
    if size_bytes == 0:
        return Cursor(memoryview(b""), 0, limits)
    blocks = _Blocks(part.read, size_bytes, None)
    return Cursor(blocks.data, size_bytes, limits, blocks.fetch, blocks.apart, blocks.forget)


class _FileLoader:
    """A `DataLoader` over an open file of the caller, which stays the caller's."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def size(self) -> int:
        """Return the position of the file's end."""
        return self._file.seek(0, os.SEEK_END)

    def load(self, offset: int, size: int) -> bytes:
        """Read at `offset`; `read` may return fewer bytes than there are."""
        self._file.seek(offset)
        parts: list[bytes] = []
        while size > 0 and (part := self._file.read(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class _FilePart:
    """Reads parts of a file."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file

    def stamp(self) -> object:
        """Return what changes when somebody writes to the file."""
        status = os.fstat(self._file.fileno())
        return status.st_mtime_ns, status.st_size

    def read(self, position: int, target: memoryview) -> int:
        """Read into `target`, and return the number of bytes, 0 at the end. Raises OSError."""
        return _read_at(self._file, position, target)


class _LoaderPart:
    """Reads parts from a loader of the application, whatever it returns."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader

    def size(self) -> int:
        try:
            size = self._loader.size()
        except Exception as error:
            raise self._failed("size", error) from error
        if type(size) is not int or size < 0:
            detail = f"the data loader's size() returned {size!r}, expected the number of bytes, an int"
            raise unreadable("unreadable-file", detail, advice=None)
        return size

    def read(self, position: int, target: memoryview) -> int:
        """Copy what the loader returns, so that it cannot change afterwards."""
        try:
            part = self._loader.load(position, len(target))
            data = memoryview(part).cast("B")
        except Exception as error:
            raise self._failed(f"load({position}, {len(target)})", error) from error
        if len(data) > len(target):
            detail = f"the data loader returned {len(data)} bytes for load({position}, {len(target)})"
            raise unreadable("unreadable-file", detail, advice="return as many bytes as were asked for")
        target[: len(data)] = data
        return len(data)

    def _failed(self, call: str, error: Exception) -> Exception:
        detail = f"the data loader's {call} failed: {error_text(error)}"
        return unreadable("unreadable-file", detail)


class _Blocks:
    """The bytes of a file in private memory, read block by block on first use.

    What is read from stays open as long as anything uses this object; views of `data` live longer.

    Attributes:
        data: All bytes; bytes not fetched yet read as zero, and take no memory.
    """

    def __init__(
        self, read: Callable[[int, memoryview], int], size_bytes: int, stamp: Callable[[], object] | None
    ) -> None:
        """Prepare to read.

        Args:
            read: Reads into a view at a position, and returns the number of bytes, 0 at the end.
            size_bytes: The number of bytes.
            stamp: Returns a value that is another one if the bytes may have changed; without it, bytes that
                are read again are compared by their checksums.
        """
        self._mapping = _reserve(size_bytes)
        self._memory = memoryview(self._mapping)
        self.data = self._memory.toreadonly()
        self._read_into = read
        self._stamp = stamp
        self._is_here = bytearray(-(-size_bytes // FILE_BLOCK_BYTES))
        self._lock = ProcessLock()
        self._apart: weakref.WeakValueDictionary[tuple[int, int], mmap.mmap] = weakref.WeakValueDictionary()
        self._seen: dict[tuple[int, int], object] = {}

    def apart(self, start: int, end: int) -> tuple[memoryview, int]:
        """Return the bytes from `start` to `end`; many of them in memory that is freed with its last view.

        Callers that ask at one time share the memory. Bytes that were freed meanwhile are read again.

        Returns:
            The bytes, and `end`, or the position where they end if the file is shorter now.

        Raises:
            UnreadableProgramError: they cannot be read, or have changed since.
        """
        blocks = self._is_here[start // FILE_BLOCK_BYTES : -(-end // FILE_BLOCK_BYTES)]
        if end - start < APART_BYTES or all(blocks):
            end = self.fetch(start, end)
            return self.data[start:end], end
        with self._lock.current():
            memory = self._apart.get((start, end))
            if memory is None:
                memory = _reserve(end - start)
                here = start + self._fill(start, memoryview(memory))
                if here < end:
                    return memoryview(b""), here
                self._check_same(start, end, memory)
                self._apart[start, end] = memory
            return memoryview(memory).toreadonly(), end

    def forget(self, start: int, end: int) -> None:
        """Free the blocks between `start` and `end` if the system can; they are read again when needed."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        first, last = -(-start // FILE_BLOCK_BYTES), end // FILE_BLOCK_BYTES
        with self._lock.current():
            if first < last:
                size_bytes = (last - first) * FILE_BLOCK_BYTES
                self._is_here[first:last] = bytes(last - first)
                self._mapping.madvise(mmap.MADV_DONTNEED, first * FILE_BLOCK_BYTES, size_bytes)

    def _check_same(self, start: int, end: int, memory: mmap.mmap) -> None:
        found = self._stamp() if self._stamp else zlib.crc32(memory)
        if self._seen.setdefault((start, end), found) != found:
            raise unreadable(
                "changed-file",
                f"the {end - start} bytes from {start} on were read before, and may be others now",
                advice="open the program again; to update a file, rename a new one over it",
            )

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
        return start + self._fill(start, self._memory[start:end])

    def _fill(self, start: int, target: memoryview) -> int:
        """Read from `start` on into `target`, and return the number of bytes that were there."""
        filled = 0
        try:
            while filled < len(target) and (count := self._read_into(start + filled, target[filled:])):
                filled += count
        except OSError as error:
            raise _not_read(error) from error
        return filled


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


class _Mapped:
    """A file that is mapped; it stays open as long as anything uses this object.

    Attributes:
        data: All bytes. The mapping, and its lock, last as long as the last view.
    """

    def __init__(self, file: io.FileIO, load_mode: LoadMode) -> None:
        self.data = _map(file, load_mode)
        self._file = file
        weakref.finalize(self, file.close)

    def apart(self, start: int, end: int) -> tuple[memoryview, int]:
        """Return the bytes from `start` to `end`; many of them in a mapping that ends with its last view."""
        if end - start < APART_BYTES:
            return self.data[start:end], end
        skipped = start % mmap.ALLOCATIONGRANULARITY
        try:
            length = end - start + skipped
            part = mmap.mmap(self._file.fileno(), length, access=mmap.ACCESS_READ, offset=start - skipped)
        except ValueError:  # the file is shorter now
            return memoryview(b""), min(os.fstat(self._file.fileno()).st_size, end - 1)
        except OSError as error:
            raise _not_read(error) from error
        return memoryview(part)[skipped:], end


def _map(file: io.FileIO, load_mode: LoadMode) -> memoryview:
    """Map the whole file."""
    mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if load_mode is LoadMode.MmapUseMadvise and hasattr(mapping, "madvise"):
        mapping.madvise(mmap.MADV_WILLNEED)
        mapping.madvise(mmap.MADV_SEQUENTIAL)
    if load_mode in (LoadMode.MmapUseMlock, LoadMode.MmapUseMlockIgnoreErrors):
        try:
            _lock_pages(memoryview(mapping))
        except OSError:
            if load_mode is LoadMode.MmapUseMlock:
                raise
    return memoryview(mapping)


def _lock_pages(view: memoryview) -> None:
    """Lock the pages of a mapping into memory. Raises OSError if the system refuses."""
    import ctypes

    if sys.platform == "win32":
        raise OSError("this system locks no pages on request")
    import numpy as np

    library = ctypes.CDLL(None, use_errno=True)
    address = np.ndarray(len(view), np.uint8, view).__array_interface__["data"][0]
    if library.mlock(ctypes.c_void_p(address), ctypes.c_size_t(len(view))):
        code = ctypes.get_errno()
        raise OSError(code, f"mlock of {len(view)} bytes: {os.strerror(code)}")


def _check_size(size_bytes: int, limits: Limits) -> None:
    if size_bytes > limits.max_file_bytes:
        raise limit_exceeded("file", f"a file of {size_bytes} bytes", "max_file_bytes", limits.max_file_bytes)
