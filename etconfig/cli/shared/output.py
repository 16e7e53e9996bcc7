"""Errors, tables and JSON as all commands print them; color and rules only on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from etconfig.cli.shared.listings import aligned_text, json_text

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic
    from etconfig.diagnostics.render import Style
    from etconfig.errors import EtconfigError

ItemT = TypeVar("ItemT")

_LONG = 100
"""The number of items from which on a progress bar is shown."""


def style_for(stream: TextIO) -> Style:
    """Return colors for a terminal that has them, none for a pipe or with NO_COLOR."""
    from etconfig.diagnostics.render import ansi, plain

    is_colored = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return ansi if is_colored and stream.isatty() else plain


def show_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics on stderr, in full."""
    from etconfig.diagnostics.render import render

    click.echo(render(diagnostics, "text", style_for(sys.stderr)), err=True, nl=False)


def fail(error: EtconfigError) -> None:
    """Print an error on stderr: its diagnostics, or its message and help."""
    from etconfig.errors import ConfigError

    if isinstance(error, ConfigError) and error.diagnostics:
        show_diagnostics(error.diagnostics)
        return
    print_error(error.message, error.help)


def print_error(message: str, help_line: str | None = None) -> None:
    """Print one sentence on stderr, and a line of help if there is one."""
    style = style_for(sys.stderr)
    click.echo(f"{style('error', 'error')}: {message}", err=True)
    if help_line:
        click.echo(f"  = {style('help', 'help')}: {help_line}", err=True)


def with_progress(items: Sequence[ItemT], label: str) -> Iterator[ItemT]:
    """Yield the items; if there are many and stderr is a terminal, a bar shows the progress."""
    if len(items) < _LONG or not sys.stderr.isatty():
        yield from items
        return
    steps = max(1, len(items) // 100)
    with click.progressbar(items, label=label, file=sys.stderr, update_min_steps=steps) as bar:
        yield from bar


def print_json(data: object) -> None:
    """Print data on stdout as JSON."""
    click.echo(json_text(data), nl=False)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows on stdout: a table on a terminal, aligned columns in a pipe."""
    rows = [tuple(row) for row in rows]
    if sys.stdout.isatty():
        _print_rich(headers, rows)
        return
    click.echo(aligned_text(headers, rows), nl=False)


def _print_rich(headers: Sequence[str], rows: Collection[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, header in enumerate(headers):
        # A column without spaces, such as the names of backends, is not wrapped while there is room.
        is_whole = index < len(headers) - 1 and not any(" " in row[index] for row in rows)
        table.add_column(header, no_wrap=is_whole, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
