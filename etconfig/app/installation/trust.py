"""Trust in files that were found rather than named: nobody else may be able to write them."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import DocumentError

_ROOT = 0


def check_trusted(paths: Iterable[Path], otherwise: str) -> None:
    """Refuse files and directories that other users could have written.

    On Windows nothing is refused: owner and mode do not show there who may write.

    Args:
        paths: Files that were found, not named.
        otherwise: The help for a file whose owner is right as it is.

    Raises:
        DocumentError: some are writable by everybody, or belong to neither this user nor root.
    """
    if sys.platform == "win32":
        return
    problems = tuple(problem for path in paths for problem in _doubts(path, otherwise))
    if problems:
        raise DocumentError(diagnostics=problems)


def _doubts(path: Path, otherwise: str) -> Iterator[Diagnostic]:
    name = _shown(path)
    try:
        entry, status = path.lstat(), path.stat()
    except OSError:
        return  # it is gone, or a broken link: reading it will say so
    # the owner of a link chose the file, whoever owns the file
    strangers = {entry.st_uid, status.st_uid} - {_ROOT, os.geteuid()}
    if strangers:
        yield _untrusted(
            name,
            f"{name} belongs to another user (uid {min(strangers)})",
            f"if you trust its contents, `chown` it to yourself, or {otherwise}",
        )
    if status.st_mode & stat.S_IWOTH:
        yield _untrusted(
            name, f"{name} can be written by every user", f"check its contents, then `chmod o-w {name}`"
        )


def _untrusted(name: str, message: str, help: str) -> Diagnostic:
    return Diagnostic(code="untrusted-file", message=message, spans=(Span(file=name),), help=help)


def _shown(path: Path) -> str:
    """Return the path, relative to the current directory if it is below it."""
    with suppress(OSError, ValueError):  # the current directory may be gone
        return str(path.absolute().relative_to(Path.cwd()))
    return str(path)
