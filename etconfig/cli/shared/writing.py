"""Writing files: whole or not at all, and never through a link that somebody planted."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click


def write_file(path: Path, content: bytes, *, is_named: bool = True) -> None:
    """Write a whole file or nothing. Devices and pipes are written to directly.

    Args:
        path: The file; it is created or replaced.
        content: Its new content.
        is_named: True if the user named the path; then a link is followed. A link at a path that
            the user did not name may have been planted, and is refused; so are pipes and devices.

    Raises:
        click.ClickException: it cannot be written; an existing file is unchanged.
    """
    if not is_named and path.is_symlink():
        raise click.ClickException(f"cannot write {path}: it is a symbolic link; remove it")
    if not is_named and path.exists() and not path.is_file():
        raise click.ClickException(f"cannot write {path}: it is not a regular file; remove it")
    target = Path(os.path.realpath(path)) if is_named else path  # through a link, not over it
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # not `target`: the links of /dev/stdout end at no path
        else:
            _replace_file(target, content)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error


def check_can_write(path: Path) -> None:
    """Check, before long work begins, that `write_file` can write to `path`.

    Raises:
        click.ClickException: it cannot.
    """
    target = Path(os.path.realpath(path))
    try:
        if path.exists() and not path.is_file():
            os.close(os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)))
        else:
            beside, descriptor = _open_beside(target)
            os.close(descriptor)
            beside.unlink()
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error


def check_is_not_read(path: Path, sources: Iterable[Path | None]) -> None:
    """Check that writing `path` would not replace a file that the command reads.

    Args:
        path: The file to write.
        sources: The files that the command reads; None stands for one that was not given.

    Raises:
        click.ClickException: it is one of them, maybe under another name.
    """
    for source in sources:
        if source is not None and path.is_file() and source.is_file() and path.samefile(source):
            raise click.ClickException(f"cannot write {path}: the command reads it; give another file")


def _open_beside(path: Path) -> tuple[Path, int]:
    """Create a new file in the directory of `path`; return its path and descriptor.

    Raises:
        OSError: it cannot be created, or `path` is write-protected.
    """
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    # a name that cannot be guessed, and that must not exist yet: no link can be planted at it
    return beside, os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def _replace_file(path: Path, content: bytes) -> None:
    """Write a new file next to `path`, and rename it to `path`.

    If the process is killed or the power fails, `path` is the whole old file or the whole new one.
    """
    beside, descriptor = _open_beside(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.exists():
                beside.chmod(stat.S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        beside.replace(path)
        _sync_directory(path.parent)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    """Make a new name durable, on file systems that can."""
    if sys.platform == "win32":
        return  # directories cannot be opened there
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
