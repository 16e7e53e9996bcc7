"""Files that a command reads: standard input as `-`, known devices by name, patterns and directories."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from glob import glob
from pathlib import Path
from typing import Any

import click

from etconfig.base.records import record
from etconfig.profile.directory import files_below

if sys.platform == "win32":
    from pathlib import WindowsPath as _LocalPath
else:
    from pathlib import PosixPath as _LocalPath

_KEY = "etconfig.standard_input"
_MAX_BYTES = 16 << 20
"""The size of the largest file that a command reads this way; more than that is refused as too large."""


class StandardInput(_LocalPath):
    """The path of a copy of standard input, which messages call `<stdin>`.

    A copy, since commands read a file more than once, and refuse one that is not a regular file.
    """

    @property
    def stem(self) -> str:
        """The name of what is named after its file, such as a packed configuration."""
        return "stdin"

    def __str__(self) -> str:
        return "<stdin>"

    def __fspath__(self) -> str:
        return super().__str__()


class KnownDevicePath(_LocalPath):
    """The path of the sheet of a known device, which messages call by the device's name."""

    def __str__(self) -> str:
        return "/".join(self.parts[-2:]).removesuffix(".json")

    def __fspath__(self) -> str:
        return super().__str__()


class InputPath(click.Path):
    """The type of a path of a file to read; `-` is standard input."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return standard_input() if value == "-" else super().convert(value, param, ctx)


class KnownDevices(InputPath):
    """The type of the name of a known device; its value is the path of the device's sheet.

    Args:
        takes_patterns: True if a pattern such as `google/*` stands for all devices that it matches; its value
            is then a list.
    """

    name = "name"

    def __init__(self, *, takes_patterns: bool = False) -> None:
        super().__init__()
        self.takes_patterns = takes_patterns

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, Path):
            return value
        if not (self.takes_patterns and set(value) & set("*?[")):
            return known_device(value)
        from etconfig.facts.known_devices import device_path, matching_devices

        return [KnownDevicePath(device_path(name)) for name in matching_devices(value)]


class SheetPath(InputPath):
    """The type of an argument that is a fact sheet: the name of a known device, a path, or `-`.

    What does not end in .json and is not a file is a name.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        is_name = isinstance(value, str) and value != "-" and not value.endswith(".json")
        if is_name and not Path(value).exists():
            return known_device(value)
        return super().convert(value, param, ctx)


def standard_input() -> Path:
    """Copy standard input, once in a command, and return the path of the copy; it goes with the command.

    Raises:
        click.ClickException: it is closed, or cannot be read.
    """
    root = click.get_current_context().find_root()
    if _KEY not in root.meta:
        content = _read_standard_input()
        descriptor, name = tempfile.mkstemp(prefix="etconfig-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        root.call_on_close(lambda: Path(name).unlink(missing_ok=True))
        root.meta[_KEY] = StandardInput(name)
    path: Path = root.meta[_KEY]
    return path


def _read_standard_input() -> bytes:
    if sys.stdin is None:
        raise click.ClickException("cannot read standard input: it is closed")
    try:
        return sys.stdin.buffer.read(_MAX_BYTES + 1)
    except OSError as error:
        raise click.ClickException(f"cannot read standard input: {error.strerror}") from error


def known_device(name: str) -> KnownDevicePath:
    """Return the path of the sheet of a known device.

    Raises:
        FactError: no device has this name, or several do.
    """
    from etconfig.facts.known_devices import device_path, find_device

    return KnownDevicePath(device_path(find_device(name)))


def name_of_device(sheet: Path | None) -> str:
    """Return the name of a device in results: of a known one, or of a file; `this device` has no sheet."""
    if sheet is None:
        return "this device"
    return str(sheet) if isinstance(sheet, KnownDevicePath) else sheet.stem


def sheet_names(sheets: Sequence[Path | None]) -> list[str]:
    """Return the name of each device; files of one name have as many directories as tell them apart."""
    from etconfig.app.configuring.device_names import name_devices

    if len(sheets) == 1:
        return [name_of_device(sheets[0])]
    known = [str(sheet) for sheet in sheets if isinstance(sheet, KnownDevicePath)]
    others = [sheet for sheet in sheets if sheet is not None and not isinstance(sheet, KnownDevicePath)]
    names = iter(name_devices(others, known))
    return [name_of_device(each) if isinstance(each, KnownDevicePath) else next(names) for each in sheets]


def expanded_sheets(sheets: Iterable[Path], option: str = "--facts") -> list[Path]:
    """Expand patterns and directories to sheets, each once.

    Args:
        sheets: The paths.
        option: The option that has them.

    Raises:
        click.BadParameter: one stands for no file.
    """
    found: dict[str, Path] = {}
    for sheet in sheets:
        is_named = isinstance(sheet, (KnownDevicePath, StandardInput))
        for path in [sheet] if is_named else _sheets_of(str(sheet), option):
            found.setdefault(os.path.abspath(path), path)  # noqa: PTH100  (a path that `..` leads to is the same)
    return [*found.values()]


def _sheets_of(text: str, option: str) -> list[Path]:
    from etconfig.facts.known_devices import device_names, short_names

    try:
        found = find_files([text], ".json")
        missing = found.missing
    except click.BadParameter as error:
        missing = (error.message,)
    if not missing:
        # a pipe among the files of a directory would be waited for; one that is named is meant
        return [path for path in found.paths if path.is_file() or not path.exists() or str(path) == text]
    is_device = text in {*device_names(), *short_names(device_names())}
    hint = f"; the known device of this name is --device {text}" if is_device else ""
    raise click.BadParameter("; ".join(missing) + hint, click.get_current_context(), param_hint=f"'{option}'")


@record(frozen=True, kw_only=True)
class FoundFiles:
    """The files that arguments stand for.

    Attributes:
        paths: The files, each once, in the order of the arguments.
        missing: The reason for each argument that stands for no file, and for each directory below one that
            cannot be read.
        of_directories: The files that stand for a directory.
    """

    paths: list[Path]
    missing: tuple[str, ...] = ()
    of_directories: frozenset[Path] = frozenset()


def find_files(texts: Sequence[str], suffix: str = ".toml") -> FoundFiles:
    """Expand the arguments to files.

    A directory stands for every file with the suffix below it, except hidden ones; a pattern such
    as `profiles/**/*.toml` for the files that match it. Both are sorted by path. `-` is standard input.

    Raises:
        click.BadParameter: no argument stands for a file.
    """
    paths: dict[Path, None] = {}
    missing: list[str] = []
    of_directories: set[Path] = set()
    for text in texts:
        try:
            found = _files_of(text, suffix, missing)
            paths.update(dict.fromkeys(found))
            of_directories.update(found if Path(text).is_dir() else ())
        except click.BadParameter as error:
            missing.append(error.message)
    if missing and not paths:
        raise click.BadParameter("; ".join(missing))
    return FoundFiles(paths=list(paths), missing=tuple(missing), of_directories=frozenset(of_directories))


def _files_of(text: str, suffix: str, unread: list[str]) -> list[Path]:
    """Return the files of one argument; directories below it that cannot be read are added to `unread`."""
    if text == "-":
        return [standard_input()]
    path = Path(text)
    if path.is_dir():
        listing = files_below(path, suffix)
        unread += (
            f"Directory {str(each.filename)!r} cannot be read: {each.strerror}" for each in listing.errors
        )
        return _all_of(listing.files, f"Directory {text!r} contains no {suffix} file")
    if os.path.lexists(path):  # also if its name looks like a pattern, or it is a broken link
        return [path]
    if set(text) & set("*?["):
        # Path.glob takes no absolute patterns
        matching = (Path(name) for name in glob(text, recursive=True))  # noqa: PTH207
        return _all_of((path for path in matching if path.is_file()), f"No file matches {text!r}")
    raise click.BadParameter(f"File {text!r} does not exist")


def _all_of(paths: Iterable[Path], otherwise: str) -> list[Path]:
    found = sorted(paths)
    if not found:
        raise click.BadParameter(otherwise)
    return found
