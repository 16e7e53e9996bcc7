"""Reports as text: aligned columns in pipes, tables on terminals, and blocks where these are too narrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from etconfig.report.model import MAX_CELL, MAX_ROWS, Table, View, cell_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

MAX_OWN_ROWS = 300
"""The most rows of an object that shows itself."""
MAX_WIDTH = 160
"""The width of a table that is not printed on a terminal."""

_GAP, _NARROW = "  ", 24
"""The space between columns, and the width from which on no column is made narrower."""
_TERMINAL_GAP, _MIN_WRAPPED = 3, 12
"""The characters between two columns on a terminal, and the least width of a column that is wrapped."""


def own_text(view: View) -> str:
    """Return a report as an object shows itself, whatever its parts contain."""
    lines = [cell_text(view.title, MAX_CELL), *(f"  {cell_text(line, MAX_CELL)}" for line in view.lines)]
    for table, rows, more in own_tables(view):
        lines += ["", f"{cell_text(table.caption, MAX_CELL)}:"] if table.caption else [""]
        cells = [[cell_text(cell, MAX_CELL) for cell in row] for row in (table.headers, *rows)]
        lines += (f"  {line}" for line in aligned(cells))
        lines += [f"  {more}"] if more else []
    return "\n".join(lines)


def own_tables(view: View) -> Iterator[tuple[Table, list[list[str]], str]]:
    """Yield each table of an object with the rows that are shown, and a line about the other rows."""
    left = MAX_OWN_ROWS
    tables = iter(view.tables)
    for table in tables:
        rows, hidden = table.first_rows(left)
        left -= len(rows)
        if hidden:  # the limit is reached: count the rest
            hidden += sum(other.first_rows(0)[1] for other in tables)
        if rows or hidden:
            yield table, rows, f"and {hidden:,} more" if hidden else ""


def table_text(table: Table) -> str:
    """Return a table in aligned columns, ready to be printed.

    Where it would be wider than `MAX_WIDTH`, long cells continue on the next lines.
    """
    from etconfig.diagnostics.escape import escape_lines

    rows, more = table.first_rows(MAX_ROWS)
    cells = [table.headers, *([cell_text(cell) for cell in row] for row in rows)]
    limits = _fitting([max(map(len, column)) for column in zip(*cells, strict=True)])
    lines = aligned(wrapped_rows(cells, limits, _words), limits)
    return escape_lines("".join(f"{line}\n" for line in lines)) + more_text(more)


def terminal_text(table: Table, stream: TextIO, width: int, *, has_color: bool) -> str:
    """Return a table for a terminal; where that is too narrow, a block of lines for each row.

    Args:
        table: The table.
        stream: The terminal.
        width: Its width in characters.
        has_color: False to leave out colors that the terminal would have.
    """
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    first, more = table.first_rows(MAX_ROWS)
    rows = [[cell_text(cell) for cell in row] for row in first]
    console = Console(file=stream, width=width, color_system="auto" if has_color else None)
    grid = Grid(box=SIMPLE_HEAD, pad_edge=False)
    needed = -1
    for index, header in enumerate(table.headers):
        # A column without spaces, such as the names of backends, is not wrapped; the last one is.
        is_whole = index < len(table.headers) - 1 and not any(" " in row[index] for row in rows)
        grid.add_column(header, no_wrap=is_whole, overflow="fold")
        widest = max(cell_len(header), *(cell_len(row[index]) for row in rows), 0)
        needed += _TERMINAL_GAP
        needed += widest if is_whole else min(widest, max(_MIN_WRAPPED, cell_len(header)))
    if needed > console.width:
        return _blocks(table.headers, rows) + more_text(more)
    for row in rows:
        grid.add_row(*map(Text, row))
    with console.capture() as printed:
        console.print(grid)
    return printed.get() + more_text(more)


def more_text(count: int) -> str:
    """Return the line that says how many rows are not shown, or nothing if all are."""
    return f"and {count:,} more; --json has all\n" if count > 0 else ""


def aligned(rows: Sequence[Sequence[str]], widths: Sequence[int] = ()) -> Iterator[str]:
    """Yield rows of escaped cells as lines of aligned columns, by default as wide as their cells."""
    widths = widths or [max(map(len, column)) for column in zip(*rows, strict=True)]
    return (_GAP.join(map(str.ljust, row, widths)).rstrip() for row in rows)


def wrapped_rows(
    rows: Iterable[Sequence[str]], limits: Sequence[int], wrap: Callable[[str, int], list[str]]
) -> list[Sequence[str]]:
    """Return rows whose cells are at most as wide as their columns may be; `wrap` divides wider ones."""
    lines: list[Sequence[str]] = []
    for row in rows:
        if all(len(cell) <= limit for cell, limit in zip(row, limits, strict=True)):
            lines.append(row)
        else:
            lines += zip_longest(*map(wrap, row, limits), fillvalue="")
    return lines


def _fitting(widths: list[int]) -> list[int]:
    """Make the widest columns narrower until the table fits, or all of them are narrow."""
    space = MAX_WIDTH - len(_GAP) * (len(widths) - 1)
    widths = [min(width, max(space, _NARROW)) for width in widths]
    while sum(widths) > space and max(widths) > _NARROW:
        widths[widths.index(max(widths))] -= 1
    return widths


def _words(cell: str, width: int) -> list[str]:
    """Return the lines of a cell, broken between words."""
    import textwrap  # few tables are that wide

    return textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)


def _blocks(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return each row as a block of lines, a cell in each, without empty cells."""
    from etconfig.diagnostics.escape import escape_lines

    width = max(map(len, headers))
    blocks = (
        "".join(f"{header.ljust(width)}  {cell}\n" for header, cell in zip(headers, row, strict=True) if cell)
        for row in rows
    )
    return escape_lines("\n".join(blocks))


def json_text(data: object) -> str:
    """Return data as JSON text."""
    import json

    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n"
