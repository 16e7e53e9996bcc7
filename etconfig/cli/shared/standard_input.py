"""Standard input in the place of a file that a command reads, named `-`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

if sys.platform == "win32":
    from pathlib import WindowsPath as _LocalPath
else:
    from pathlib import PosixPath as _LocalPath

_NAME = "<stdin>"
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
        return _NAME

    def __fspath__(self) -> str:
        return super().__str__()


class InputPath(click.Path):
    """The type of a path of a file to read; `-` is standard input."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path.

        Raises:
            click.ClickException: standard input cannot be read.
        """
        return standard_input() if value == "-" else super().convert(value, param, ctx)


def standard_input() -> Path:
    """Copy standard input, once in a command, and return the path of the copy; it goes with the command.

    Raises:
        click.ClickException: it is closed, or cannot be read.
    """
    root = click.get_current_context().find_root()
    if _KEY not in root.meta:
        content = _read()
        descriptor, name = tempfile.mkstemp(prefix="etconfig-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        root.call_on_close(lambda: Path(name).unlink(missing_ok=True))
        root.meta[_KEY] = StandardInput(name)
    path: Path = root.meta[_KEY]
    return path


def _read() -> bytes:
    if sys.stdin is None:
        raise click.ClickException("cannot read standard input: it is closed")
    try:
        return sys.stdin.buffer.read(_MAX_BYTES + 1)
    except OSError as error:
        raise click.ClickException(f"cannot read standard input: {error.strerror}") from error
