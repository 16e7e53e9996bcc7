"""Lists of backends and profiles, and text layout, without importing click."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from etconfig.base.records import record
from etconfig.plugin import BACKENDS

if TYPE_CHECKING:
    from etconfig.app.installation.installation import Installation
    from etconfig.method import ExecutorReport
    from etconfig.plugin import EntryPoint


MAX_ROWS = 10_000
"""The most rows of a table, and the most blocks of a text, that are printed."""

MAX_WIDTH = 160
"""The width of a table that is not printed on a terminal."""

_GAP, _NARROW = "  ", 24
"""The space between columns, and the width from which on no column is made narrower."""


@record(frozen=True)
class Listing:
    """A list of things of one kind.

    Attributes:
        headers: The headers of the columns.
        keys: The names of the columns in JSON.
        rows: The cells of each thing.
    """

    headers: tuple[str, ...]
    keys: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def to_jsonable(self) -> list[dict[str, str]]:
        """The rows as plain data."""
        return [dict(zip(self.keys, row, strict=True)) for row in self.rows]


def list_backends(installation: Installation) -> Listing:
    """List the installed backends and the distributions that provide them.

    If several plugins declare a backend, the list says which one is used. They are imported only if their
    distributions do not say which of them have an implementation.
    """
    entries = installation.index.entries(BACKENDS)
    keys, headers = ("backend", "distribution", "version"), ("BACKEND", "DISTRIBUTION", "VERSION")
    if len({entry.name for entry in entries}) == len(entries):
        rows = [(entry.name, entry.distribution, entry.version) for entry in entries]
        return Listing(headers, keys, sorted(rows))
    described = [
        (entry.name, entry.distribution, entry.version, passed_over(installation, entry) or "yes")
        for entry in entries
    ]
    return Listing((*headers, "USED"), (*keys, "used"), sorted(described))


def passed_over(installation: Installation, entry: EntryPoint) -> str | None:
    """Return why a plugin that declares a backend is not the one that is used; None if it is."""
    from etconfig.errors import DuplicatePluginError

    try:
        winner = _used_entry(installation, entry.name)
    except DuplicatePluginError as error:
        return f"no: {error.message}; {error.help}"
    if winner == entry:
        return None
    if installation.index.candidates(BACKENDS, entry.name) == [winner]:
        return f"no: the project file prefers {winner.distribution}"
    return f"no: it only declares options, and {winner.source} has an implementation"


def _used_entry(installation: Installation, backend: str) -> EntryPoint:
    """Return the entry point that declares a backend; see `PluginRegistry.backend_entry`."""
    index = installation.index
    rivals = index.candidates(BACKENDS, backend)
    if len(rivals) == 1 or all(index.declarations.has_implementation(each) is not None for each in rivals):
        return index.find(BACKENDS, backend)
    return installation.plugins.backend_entry(backend)


def list_with_runtime(installation: Installation, executor: str) -> Listing:
    """List the installed backends, those of an executor's runtime, and which can run here. Imports them.

    Raises:
        PluginError: no such executor is installed, or its plugin is broken.
    """
    from etconfig.app.programs.executors import executor_report

    runtime = executor_report(installation, executor)
    entries = installation.index.entries(BACKENDS)
    declared = {entry.name for entry in entries}
    rows = []
    for entry in entries:
        reason = passed_over(installation, entry)
        here = ("no", reason.removeprefix("no: ")) if reason else None
        here = here or _availability(installation, entry.name, executor, runtime)
        rows.append((entry.name, entry.distribution, entry.version, *here))
    for backend in {each.id for each in runtime.backends} - declared:
        rows.append((backend, "none", "", *_availability(installation, backend, executor, runtime)))
    headers = ("BACKEND", "DISTRIBUTION", "VERSION", "RUNS HERE", "WITH, OR WHY NOT")
    return Listing(headers, ("backend", "distribution", "version", "available", "detail"), sorted(rows))


def _availability(
    installation: Installation, backend: str, executor: str, runtime: ExecutorReport
) -> tuple[str, str]:
    from etconfig.app.programs.executors import backend_status
    from etconfig.errors import PluginError

    try:
        status = backend_status(installation, backend, executor, runtime)
    except PluginError as error:
        return "no", error.message
    if status.is_available:
        return "yes", status.version or ""
    return "no", status.reason or ""


def list_profiles(installation: Installation) -> Listing:
    """List the known profiles and their files.

    Raises:
        ProfileError: two files claim one name, or a directory is missing.
    """
    library = installation.profiles
    rows = [(name, str(library.find(name).path)) for name in library.names]
    return Listing(("PROFILE", "FILE"), ("name", "path"), rows)


def cell_text(cell: str) -> str:
    """Return the text of a cell as it is printed: in one line, escaped, and not too long."""
    from etconfig.diagnostics.escape import escape_line, shorten

    return escape_line(shorten(cell))


def first_rows(
    rows: Iterable[Sequence[str]], count: int | None = None
) -> tuple[Sequence[Sequence[str]], int]:
    """Return the rows that are shown, and the number of all; if it is known, the others are not made."""
    if count is not None:
        return list(islice(rows, MAX_ROWS)), count
    rows = list(rows)
    return rows[:MAX_ROWS], len(rows)


def table_text(headers: Sequence[str], rows: Iterable[Sequence[str]], count: int | None = None) -> str:
    """Return rows below their headers, in aligned columns, ready to be printed; `count` as `first_rows`.

    Where the table would be wider than `MAX_WIDTH`, long cells continue on the next lines.
    """
    from etconfig.diagnostics.escape import escape_lines

    shown, count = first_rows(rows, count)
    table = [headers, *([cell_text(cell) for cell in row] for row in shown)]
    widths = _fitting([max(map(len, column)) for column in zip(*table, strict=True)])
    lines = (line for row in table for line in _lines(row, widths))
    return escape_lines("".join(f"{line.rstrip()}\n" for line in lines)) + more_text(count)


def _fitting(widths: list[int]) -> list[int]:
    """Make the widest columns narrower until the table fits, or all of them are narrow."""
    space = MAX_WIDTH - len(_GAP) * (len(widths) - 1)
    widths = [min(width, max(space, _NARROW)) for width in widths]
    while sum(widths) > space and max(widths) > _NARROW:
        widths[widths.index(max(widths))] -= 1
    return widths


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a row: a cell that is too long is continued, between words."""
    if all(len(cell) <= width for cell, width in zip(row, widths, strict=True)):
        yield _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        return
    import textwrap  # few tables are that wide

    wrapped = [
        textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)
        for cell, width in zip(row, widths, strict=True)
    ]
    for cells in zip_longest(*wrapped, fillvalue=""):
        yield _GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))


def record_text(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return each row as a block of lines, a cell in each, ready to be printed; empty cells are left out."""
    from etconfig.diagnostics.escape import escape_lines

    width = max(map(len, headers))
    blocks = (
        "".join(f"{header.ljust(width)}  {cell}\n" for header, cell in zip(headers, row, strict=True) if cell)
        for row in rows
    )
    return escape_lines("\n".join(blocks))


def more_text(count: int) -> str:
    """Return the line that says how many of `count` rows are not shown, or nothing if all are."""
    return f"and {count - MAX_ROWS:,} more; --json has all\n" if count > MAX_ROWS else ""


def json_text(data: object) -> str:
    """Return data as JSON text."""
    import json

    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n"
