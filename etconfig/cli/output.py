"""What commands share to speak: errors, tables, JSON. Colour and rules only on a terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

import click

from etconfig.diagnostics import Diagnostic
from etconfig.diagnostics.render import Style, ansi, plain, render
from etconfig.errors import ConfigError, EtconfigError


def style_for(stream: TextIO) -> Style:
    """Colours for a terminal, none for a pipe or with NO_COLOR."""
    return ansi if stream.isatty() and not os.environ.get("NO_COLOR") else plain


def show_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Diagnostics on stderr, in full."""
    click.echo(render(diagnostics, "text", style_for(sys.stderr)), err=True, nl=False)


def fail(error: EtconfigError) -> None:
    """An error on stderr: its diagnostics, or its message and what to do."""
    if isinstance(error, ConfigError) and error.diagnostics:
        show_diagnostics(error.diagnostics)
        return
    style = style_for(sys.stderr)
    click.echo(f"{style('error', 'error')}: {error.message}", err=True)
    if error.help:
        click.echo(f"  = {style('help', 'help')}: {error.help}", err=True)


def write_file(path: Path, content: bytes) -> None:
    """Write a whole file or nothing: into a new file beside it, which then takes its name.

    Raises:
        click.ClickException: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error


def print_json(data: object) -> None:
    """Data on stdout as JSON."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows on stdout: a table on a terminal, aligned columns in a pipe."""
    rows = [tuple(row) for row in rows]
    if sys.stdout.isatty():
        _print_rich(headers, rows)
        return
    widths = [max(len(cell) for cell in column) for column in zip(headers, *rows, strict=True)]
    for row in [headers, *rows]:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(line.rstrip())


def _print_rich(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headers, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
