"""Copies of libraries that nobody else can write to or replace while the process has them loaded."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from etconfig_tvm.errors import PrivateFileError

_NAME = "model.so"
"""TVM chooses the loader by the end of the name, and takes this one on each system."""


@contextmanager
def private_file(parts: Iterable[bytes | memoryview]) -> Iterator[Path]:
    """Write a library to a new file, give the file a new path, and remove the path afterwards.

    A library stays usable: the process has mapped it. The path is in a directory with mode 0700, which is
    made where `TMPDIR` says. It differs from all others, since the system takes the library that it has
    loaded for a path that it knows. On Linux, the file is in memory, so `TMPDIR` needs no room and may be
    noexec.

    Args:
        parts: The bytes of the library.

    Raises:
        PrivateFileError: there is no room, or no place to write to.
    """
    with _private_directory() as directory, _new_file(directory / _NAME) as path:
        size_bytes = 0
        try:
            with path.open("r+b") as file:
                for part in parts:
                    size_bytes += len(part)
                    file.write(part)
        except OSError as error:
            raise _failure(str(directory.parent), f"{size_bytes} bytes", error) from error
        yield path


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """Make an empty file in memory and a link to it, or a file where the system has none in memory.

    Linux has none if `vm.memfd_noexec` is 2.
    """
    try:
        descriptor = os.memfd_create(path.name)
    except (AttributeError, OSError):
        path.touch(0o700, exist_ok=False)
        yield path
        return
    try:
        path.symlink_to(f"/proc/self/fd/{descriptor}")
        yield path
    finally:
        os.close(descriptor)


@contextmanager
def _private_directory() -> Iterator[Path]:
    try:
        directory = Path(tempfile.mkdtemp(prefix="etconfig-tvm-"))
    except OSError as error:
        raise _failure(_place(), "a directory", error) from error
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _place() -> str:
    """Return the directory for temporary files, or what TMPDIR says if there is none that can be used."""
    try:
        return tempfile.gettempdir()
    except OSError:
        return os.environ.get("TMPDIR", "")


def _failure(place: str, what: str, error: OSError) -> PrivateFileError:
    return PrivateFileError(
        problem=f"{what} cannot be written in {place!r}, where libraries are put to load them: "
        f"{error.strerror or error}",
        help="set TMPDIR to a directory with room, which you may write to and whose files may be executed",
    )
