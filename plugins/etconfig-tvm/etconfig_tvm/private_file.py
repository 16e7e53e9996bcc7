"""Paths that nobody else can write to or replace, for the short time in which a library is loaded."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from etconfig_tvm.errors import PrivateFileError


@contextmanager
def private_file(data: bytes | memoryview, suffix: str) -> Iterator[Path]:
    """Write `data` to a file in a new directory with mode 0700, and remove both afterwards.

    A library stays usable: the process has mapped it. The directory is made where `TMPDIR` says.

    Raises:
        PrivateFileError: there is no room, or no place to write to.
    """
    with _private_directory() as directory:
        path = directory / f"model{suffix}"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError as error:
            raise _failure(str(directory.parent), f"{len(data)} bytes", error) from error
        yield path


@contextmanager
def private_link(file: BinaryIO, path: Path) -> Iterator[Path]:
    """Make a new path for an open file, in a new directory with mode 0700, and remove both afterwards.

    Whatever happens to `path` meanwhile, the new path is that of the open file. It also differs from all
    others: for a path that it has loaded before, the system takes the old library, even if the file was
    replaced. Linux only; elsewhere, it is the path itself.

    Raises:
        PrivateFileError: there is no place for the directory.
    """
    if not sys.platform.startswith("linux"):
        yield path.absolute()
        return
    with _private_directory() as directory:
        link = directory / f"model{path.suffix or '.so'}"
        link.symlink_to(f"/proc/self/fd/{file.fileno()}")
        yield link


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
