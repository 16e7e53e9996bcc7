"""Conversion of JSON to Parquet: lines of fact sheets or of plain values, and directories of sheets.

What is wrong in a row is kept in a column beside it, with the fact and the value; that becomes unknown.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from etconfig.base.version import __version__
from etconfig.base.written_files import rights_of_copy, whole_file
from etconfig.facts.registry import FactRegistry
from etconfig.fleet.inventory.columns import DEVICE_COLUMN, UnusableInventoryError
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.json_sql import convert_lines
from etconfig.profile.directory import files_below

CACHE_DIRECTORY = ".etconfig-fleet"
"""The directory of converted files, beside each inventory."""

_WRITE_ERRORS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG))
"""The errors that only writing has."""

_FORMAT = 6
"""Changes with the columns and the texts of a converted file, so that an older one is not taken."""


def converted(
    database: Database,
    path: Path,
    identity: str,
    registry: FactRegistry,
    *,
    id_column: str | None = None,
    ignored: Collection[str] = (),
    cache: Path | None = None,
) -> Path:
    """Return the Parquet file of a JSONL file or a directory of sheets; it is made once.

    Args:
        database: The database that converts.
        path: The file, or the directory.
        identity: Changes when the file does.
        registry: The facts.
        id_column: The key that names the devices.
        ignored: Keys to leave out.
        cache: The directory for converted files; None for one beside `path`.

    Raises:
        UnusableInventoryError: the converted file cannot be written, or there are too many keys.
        OSError: the file cannot be read.
    """
    directory = cache or path.parent / CACHE_DIRECTORY
    key = json.dumps([__version__, _FORMAT, identity, registry.names, id_column, sorted(ignored)])
    target = directory / f"{path.name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.parquet"
    if cache is None and directory.is_symlink():
        raise _unwritable(directory, "it is a symbolic link")
    rights = rights_of_copy(sheet_files(path) if path.is_dir() else (path,), directory)
    if target.exists():
        _narrow(target, rights)
        return target
    _check_can_write(directory)
    with _lines_of(path) as lines, _writing(database, target), whole_file(target, rights=rights) as beside:
        convert_lines(database, lines, beside, registry, id_column, ignored)
    return target


def _narrow(target: Path, rights: int) -> None:
    """Take rights from a converted file that the inventory does not give, or gives no longer."""
    mode = stat.S_IMODE(target.stat().st_mode)
    if mode & ~rights:
        with suppress(OSError):  # it is another user's
            target.chmod(mode & rights)


def _check_can_write(directory: Path) -> None:
    """Make the directory of converted files.

    Raises:
        UnusableInventoryError: that fails, or nothing can be written there.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise _unwritable(directory, str(error.strerror)) from error


def _unwritable(directory: Path, reason: str) -> UnusableInventoryError:
    return UnusableInventoryError(
        f"it is converted to Parquet in {directory}, which cannot be written: {reason}",
        "give another directory with --cache",
    )


@contextmanager
def _lines_of(path: Path) -> Iterator[Path]:
    """Give the file of lines: the inventory itself, or one that is made of a directory of sheets."""
    if not path.is_dir():
        yield path
        return
    with TemporaryDirectory(prefix="etconfig-sheets-") as scratch:
        lines = Path(scratch, "sheets.jsonl")
        _write_lines(path, lines)
        yield lines


@contextmanager
def _writing(database: Database, target: Path) -> Iterator[None]:
    """Tell errors of the directory of converted files, such as a full disk, from errors of the inventory.

    Raises:
        UnusableInventoryError: the directory cannot be written.
        OSError: the inventory cannot be read.
    """
    try:
        with database.reading():
            yield
    except OSError as error:
        made = (target.name, ".etconfig-")
        names_made = any(os.fspath(target.parent / start) in str(error) for start in made)
        if error.errno not in _WRITE_ERRORS and not names_made:
            raise
        reason = str(error) if error.errno is None else os.strerror(error.errno)
        raise _unwritable(target.parent, reason) from error


def _write_lines(directory: Path, target: Path) -> None:
    """Write every sheet below a directory as a line; a device is named as its file."""
    with target.open("w", encoding="utf-8") as file:
        for path in sheet_files(directory):
            name = path.relative_to(directory).with_suffix("").as_posix()
            file.write(_line_of_sheet(name, path.read_bytes()) + "\n")


def _line_of_sheet(name: str, data: bytes) -> str:
    """Return the text of a sheet in one line, in which a key may be repeated, with the name of its device."""
    try:
        text = data.decode("utf-8-sig")
        sheet = json.loads(text)
    except (ValueError, RecursionError):
        sheet = None
    if not isinstance(sheet, dict):
        return json.dumps([name])
    text = text.replace("\r", " ").replace("\n", " ").strip()  # line breaks of strings are escaped
    if DEVICE_COLUMN in sheet:
        return text
    comma = "," if sheet else ""
    return f'{{"{DEVICE_COLUMN}": {json.dumps(name)}{comma}{text[1:]}'


def sheet_files(directory: Path) -> list[Path]:
    """Return the fact sheets below a directory, in the order of their rows."""
    return sorted(files_below(directory, ".json").files)
