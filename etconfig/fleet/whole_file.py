"""Files that are written whole or not at all, and directories for their parts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import EISDIR
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
    with whole_files([target]) as (beside,), errors_of(target, beside):
        yield beside


@contextmanager
def whole_files(targets: Sequence[Path]) -> Iterator[list[Path]]:
    """Give paths beside files, which replace them together at the end, and are removed after an error.

    All are written before the first is replaced, which needs no more space.

    Raises:
        OSError: a directory is in the place of a file, or a file cannot be replaced; it names the file.
    """
    for target in targets:
        if target.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(target))
    paths = [target.with_name(f".{target.name}.{uuid4().hex[:12]}.tmp") for target in targets]
    try:
        yield paths
        for path, target in zip(paths, targets, strict=True):
            with errors_of(target, path):
                path.replace(target)
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


@contextmanager
def errors_of(target: Path, beside: Path) -> Iterator[None]:
    """Let the errors of writing a file beside `target` name `target`.

    Raises:
        OSError: the file cannot be written.
    """
    try:
        yield
    except OSError as error:
        if error.filename in (None, str(beside)):
            raise OSError(error.errno, error.strerror or str(error), str(target)) from error
        raise
