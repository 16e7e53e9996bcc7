"""What commands share to speak: errors, tables, JSON. Colour and rules only on a terminal."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from etconfig.cli.listings import aligned_text, json_text

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic
    from etconfig.diagnostics.render import Style
    from etconfig.errors import EtconfigError

ItemT = TypeVar("ItemT")

_LONG = 100
"""How many items make work that is worth a progress bar."""


def style_for(stream: TextIO) -> Style:
    """Colours for a terminal that knows them, none for a pipe or with NO_COLOR."""
    from etconfig.diagnostics.render import ansi, plain

    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return ansi if wanted and stream.isatty() else plain


def show_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Diagnostics on stderr, in full."""
    from etconfig.diagnostics.render import render

    click.echo(render(diagnostics, "text", style_for(sys.stderr)), err=True, nl=False)


def fail(error: EtconfigError) -> None:
    """An error on stderr: its diagnostics, or its message and what to do."""
    from etconfig.errors import ConfigError

    if isinstance(error, ConfigError) and error.diagnostics:
        show_diagnostics(error.diagnostics)
        return
    print_error(error.message, error.help)


def print_error(message: str, advice: str | None = None) -> None:
    """One sentence on stderr, and what to do about it."""
    style = style_for(sys.stderr)
    click.echo(f"{style('error', 'error')}: {message}", err=True)
    if advice:
        click.echo(f"  = {style('help', 'help')}: {advice}", err=True)


def with_progress(items: Sequence[ItemT], label: str) -> Iterator[ItemT]:
    """The items; while they are consumed, a bar on stderr shows how far that is, if it is a terminal."""
    if len(items) < _LONG or not sys.stderr.isatty():
        yield from items
        return
    steps = max(1, len(items) // 100)
    with click.progressbar(items, label=label, file=sys.stderr, update_min_steps=steps) as bar:
        yield from bar


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


def print_json(data: object) -> None:
    """Data on stdout as JSON."""
    click.echo(json_text(data), nl=False)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows on stdout: a table on a terminal, aligned columns in a pipe."""
    rows = [tuple(row) for row in rows]
    if sys.stdout.isatty():
        _print_rich(headers, rows)
        return
    click.echo(aligned_text(headers, rows), nl=False)


def _print_rich(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headers, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
