"""Lines, errors, tables and JSON as all commands print them; color and rules only on a terminal.

All output of a command goes through this module, which escapes it: no text of a file, a plugin or a name
controls the terminal, breaks a line, or becomes a command for a CI service.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from etconfig.cli.shared.standard_output import command_errors, command_output, terminal_width
from etconfig.diagnostics.escape import (
    escape_json,
    escape_line,
    escape_lines,
    escape_styled_lines,
    escape_unencodable,
    shorten,
)
from etconfig.report.model import MAX_ROWS, Table
from etconfig.report.text import json_text, more_text, table_text, terminal_text

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic
    from etconfig.diagnostics.render import Style
    from etconfig.diagnostics.repository import RepositoryNames
    from etconfig.errors import EtconfigError

ItemT = TypeVar("ItemT")

_STEP_WIDTH = len("100% of this step")

_LONG = 100
"""The number of items from which on a progress bar is shown."""


_UNREAD = f"{__name__}.unread"
"""In the data of a command's context: the reader of stdout has gone; what is printed there is discarded."""


_DISPLAY = {name: f"{__name__}.{name}" for name in ("quiet", "color", "fail_on")}
"""The keys of click's context for what `--quiet`, `--color` and `--fail-on` ask for."""
_LEVELING = f"{__name__}.leveling"
"""In the data of a command's context: what gives findings their levels."""
_FAILED = f"{__name__}.failed"
"""In the data of a command's context: a finding must make the exit status 1."""


def _print(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print on stdout or stderr.

    If nobody reads it any more, or stderr takes no messages, the command goes on, for its exit status.
    """
    stream = command_errors() if err else command_output()
    try:
        # colors come from `style_for`; all else is escaped
        click.echo(escape_unencodable(text, stream.encoding), file=stream, nl=nl, color=True)
    except OSError as error:
        if not err and not isinstance(error, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        context = click.get_current_context(silent=True)
        if context is not None and not err:
            context.meta[_UNREAD] = True


def keep_display(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Keep `--quiet`, `--color` or `--fail-on` for the whole run; the last one on the line wins."""
    if value:
        context.meta[_DISPLAY[str(parameter.name)]] = value


def _display(name: str) -> object:
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(_DISPLAY[name])


def is_read() -> bool:
    """Return False once the reader of stdout has gone, so that printing more is of no use."""
    return _UNREAD not in click.get_current_context().meta


def show(line: object = "", *, err: bool = False) -> None:
    """Print one line on stdout, or on stderr: newlines in it are escaped too, a long one is cut."""
    _print(escape_line(shorten(str(line))), err=err)


def note(line: object = "") -> None:
    """Print one line on stderr that is neither a result nor an error; `--quiet` leaves it out."""
    if not _display("quiet"):
        show(line, err=True)


def show_document(text: str) -> None:
    """Print a text of many lines on stdout whole, with unprintable characters escaped."""
    _print(escape_lines(text), nl=False)


def show_diff(text: str) -> None:
    """Print a unified diff on stdout; the line ends of a file from Windows stay as they are."""
    _print("\r\n".join(map(escape_lines, text.split("\r\n"))), nl=False)


def show_blocks(blocks: Iterable[str]) -> None:
    """Print blocks of lines on stdout, long lines cut; of very many, the first and the number of others."""
    blocks = list(blocks)
    lines = "".join(blocks[:MAX_ROWS]).split("\n")
    show_document("\n".join(map(shorten, lines)))
    _print(more_text(len(blocks) - MAX_ROWS), nl=False)


def show_escaped(text: str) -> None:
    """Print a text on stdout whose parts are already escaped, such as workflow commands."""
    _print(text, nl=False)


def repository_names(*, is_public: bool = False) -> RepositoryNames:
    """Return what names files as the code host does, seen from the current directory."""
    from etconfig.diagnostics.repository import RepositoryNames

    return RepositoryNames(Path.cwd(), os.environ, is_public=is_public)


def show_styled(text: str, style: Style, *, err: bool = False) -> None:
    """Print lines that contain colors of `style`; every foreign part of them is already escaped."""
    from etconfig.diagnostics.render import plain

    escape = escape_lines if style is plain else escape_styled_lines
    _print(escape(text), err=err, nl=False)


def style_for(stream: TextIO) -> Style:
    """Return colors for a terminal that has them, or with FORCE_COLOR; none for a pipe or with NO_COLOR.

    `--color always` and `--color never` go before all of these.
    """
    from etconfig.diagnostics.render import ansi, plain

    chosen = _display("color")
    if chosen in ("always", "never"):
        return ansi if chosen == "always" else plain
    is_forced = bool(os.environ.get("FORCE_COLOR"))
    has_colors = is_forced or (stream.isatty() and os.environ.get("TERM") != "dumb")
    return ansi if has_colors and not os.environ.get("NO_COLOR") else plain


def keep_leveling(leveling: Callable[[Iterable[Diagnostic]], Sequence[Diagnostic]]) -> None:
    """Keep the function that gives findings the levels of the project, for all that this run shows."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_LEVELING] = leveling


def judged(diagnostics: Iterable[Diagnostic]) -> Sequence[Diagnostic]:
    """Return findings with their levels; the exit status is 1 if one of them is as bad as `--fail-on` says.

    Without that option, it is 1 if the project's rules make an error of a finding that is none.
    """
    found, context = [*diagnostics], click.get_current_context(silent=True)
    if context is None or not found:
        return found
    leveling = context.meta.get(_LEVELING)
    leveled = found
    if leveling is not None:
        # an error that has stopped some work is the reason, whatever the rules say
        stopped = {one for one in found if one.is_error and one.code not in _VERDICTS}
        leveled = [each for one in found for each in ([one] if one in stopped else leveling([one]))]
    before = {*found}
    if any(counts(each) or (each.is_error and each not in before) for each in leveled):
        context.meta[_FAILED] = True
    return leveled


def counts(problem: Diagnostic) -> bool:
    """Return True if a finding is as bad as `--fail-on` says."""
    return problem.severity.value in _COUNTED[str(_display("fail_on"))]


_VERDICTS = ("failed-test", "undecided-test", "matrix-mismatch")
"""The codes of errors that are results; the findings of `validate` have their levels before."""
_COUNTED = {
    "None": (),
    "error": ("error",),
    "warning": ("error", "warning"),
    "note": ("error", "warning", "note"),
}
"""The levels of the findings that count, by the value of `--fail-on`."""


def has_failed() -> bool:
    """Return True if a finding must make the exit status 1."""
    return _FAILED in click.get_current_context().meta


def show_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics on stderr, with `--quiet` the errors; of very many, the first and how many more."""
    _show_on_stderr(judged(diagnostics))


def _show_on_stderr(diagnostics: Iterable[Diagnostic]) -> None:
    hidden = _show_problems(
        [each for each in diagnostics if each.is_error or not _display("quiet")], err=True
    )
    if hidden:
        show(f"and {hidden:,} more problems", err=True)


def show_findings(diagnostics: Iterable[Diagnostic]) -> None:
    """Do the same as `show_diagnostics` on stdout, for a command whose result they are."""
    hidden = _show_problems(judged(diagnostics), err=False)
    if hidden:
        show(f"{hidden:,} more problems are not shown; --json has all", err=True)


def _show_problems(found: Sequence[Diagnostic], *, err: bool) -> int:
    """Print what is worth showing, and return the number of others."""
    from etconfig.diagnostics.render import render, worth_showing

    shown = worth_showing(found)
    style = style_for(command_errors() if err else command_output())
    show_styled(render(shown, "text", style), style, err=err)
    return len(found) - len(shown)


def fail(error: EtconfigError) -> None:
    """Print an error on stderr: its diagnostics, or its message and help."""
    from etconfig.errors import ConfigError

    if isinstance(error, ConfigError) and error.diagnostics:
        _show_on_stderr(error.diagnostics)  # the work is not done, whatever level they have
        return
    print_error(error.message, error.help)


def print_error(message: str, help_line: str | None = None) -> None:
    """Print one sentence on stderr, and a line of help if there is one."""
    style = style_for(command_errors())
    text = f"{style('error', 'error')}: {escape_lines(shorten(message))}\n"
    if help_line:
        text += f"  = {style('help', 'help')}: {escape_lines(shorten(help_line))}\n"
    show_styled(text, style, err=True)


def shows_progress() -> bool:
    """Return True if somebody watches: stderr is a terminal, and `--quiet` is not given."""
    return command_errors().isatty() and not _display("quiet")


def show_done(percentage: float | None) -> None:
    """Show on stderr how much of a step is done, in place of what this showed before; None removes it."""
    text = "" if percentage is None else f"{percentage:3.0f}% of this step"
    _print(f"\r{text:{_STEP_WIDTH}}" + ("" if text else "\r"), err=True, nl=False)


def with_progress(items: Sequence[ItemT], label: str) -> Iterator[ItemT]:
    """Yield the items; if there are many and stderr is a terminal, a bar shows the progress."""
    if len(items) < _LONG or not shows_progress():
        yield from items
        return
    steps = max(1, len(items) // 100)
    with click.progressbar(items, label=label, file=command_errors(), update_min_steps=steps) as bar:
        yield from bar


def print_json(data: object) -> None:
    """Print data on stdout as JSON."""
    show_json(json_text(data))


def show_json(text: str) -> None:
    """Print a JSON text on stdout whole; unprintable characters in its strings are escaped as JSON does."""
    _print(escape_json(text, command_output().encoding), nl=False)


def print_table(
    headers: Sequence[str], rows: Iterable[Sequence[str | int]], count: int | None = None
) -> None:
    """Print rows on stdout below their headers; `count` is the number of rows, if it is known."""
    show_table(Table(headers=headers, rows=rows, count=count))


def show_table(table: Table) -> None:
    """Print a table on stdout: laid out for a terminal, in aligned columns for a pipe."""
    stream = command_output()
    if not stream.isatty():
        _print(table_text(table), nl=False)
        return
    has_color = _display("color") != "never"
    _print(terminal_text(table, stream, terminal_width(80), has_color=has_color), nl=False)


def show_tables(tables: Iterable[Table]) -> None:
    """Print tables on stdout below their captions, with blank lines between; empty ones are left out."""
    for at, table in enumerate(table for table in tables if table.rows):
        if at:
            show()
        if table.caption:
            show(f"{table.caption}:")
        show_table(table)
