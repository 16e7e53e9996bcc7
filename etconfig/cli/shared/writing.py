"""Files that commands write: whole or not at all, and never through a link that somebody planted."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

import click


def write_file(path: Path, content: bytes, *, is_named: bool = True) -> None:
    """Write a whole file or nothing. A device or a pipe is written as it stands.

    Args:
        path: The file; it is replaced, or new.
        content: All that it shall hold.
        is_named: Whether the user named the path; then a link is followed. One at a path that
            was not named may have been planted, and is refused.

    Raises:
        click.ClickException: it cannot be written; a file that was there before is untouched.
    """
    if not is_named and path.is_symlink():
        raise click.ClickException(f"cannot write {path}: it is a symbolic link; remove it")
    target = Path(os.path.realpath(path)) if is_named else path  # through a link, not over it
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _replace_file(target, content)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error


def check_can_write(path: Path) -> None:
    """See, before long work begins, whether `write_file` will find a place for `path`.

    Raises:
        click.ClickException: it will not.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            os.close(os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)))
        else:
            beside, descriptor = _open_beside(target)
            os.close(descriptor)
            beside.unlink()
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error


def _open_beside(path: Path) -> tuple[Path, int]:
    """A new file in the directory of `path`, and its descriptor."""
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    # a name that nobody can foresee, and that must not be there yet: no link can be planted at it
    return beside, os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def _replace_file(path: Path, content: bytes) -> None:
    """Write a new file beside `path`, which then takes its name.

    Whenever the process is killed or the power fails, `path` is the old file or the new one, whole.
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
    """Make a new name last; not every file system can."""
    if sys.platform == "win32":
        return  # directories cannot be opened there
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
