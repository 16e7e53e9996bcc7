"""Files that are written whole or not at all, and directories for their parts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def directory_beside(target: Path) -> Iterator[Path]:
    """Make a directory beside `target` for its parts, which other machines may write; remove it at the end.

    Raises:
        OSError: it cannot be made.
    """
    beside = target.with_name(f".{target.name}.{uuid4().hex[:12]}.parts")
    beside.mkdir()
    try:
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a path beside `target` that replaces it at the end, and is removed after an error.

    No other process has the same path, also on another machine.

    Raises:
        OSError: the file cannot be written; it names `target`.
    """
    beside = target.with_name(f".{target.name}.{uuid4().hex[:12]}.tmp")
    try:
        yield beside
        beside.replace(target)
    except OSError as error:
        if error.filename in (None, str(beside)):
            raise OSError(error.errno, error.strerror or str(error), str(target)) from error
        raise
    finally:
        beside.unlink(missing_ok=True)
