"""Objects that show themselves: as a text of a few lines, and as HTML in notebooks, from one description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from etconfig.base.records import record

MAX_ROWS = 300
"""The most rows of one object that are shown."""
MAX_CELL = 120
"""The most characters of a cell; of a longer one, the number of those that are left out is shown."""
MAX_LISTED = 4
"""The most names that one line lists."""

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
_CELL = ' style="text-align: left; vertical-align: top"'  # notebooks align to the right
_PLAIN = "tex2jax_ignore mathjax_ignore"  # or notebooks would typeset what is between two dollar signs


@record(frozen=True, kw_only=True)
class DisplayTable:
    """Rows below their headers.

    Attributes:
        caption: The text above them; empty for none.
        headers: The headers of the columns.
        rows: The cells of each row; may be produced while they are shown, up to the limit.
        is_folded: True for a table that notebooks show only when its caption is clicked.
    """

    caption: str
    headers: Sequence[str]
    rows: Iterable[Sequence[str]]
    is_folded: bool = False


@record(frozen=True, kw_only=True)
class Display:
    """The description of an object: a title, lines, and tables.

    Attributes:
        title: What it is, in one line.
        lines: Further lines.
        tables: Its contents.
    """

    title: str
    lines: Sequence[str] = ()
    tables: Sequence[DisplayTable] = ()

    def text(self) -> str:
        """Return it as lines of text, whatever its parts contain."""
        lines = [shown_text(self.title), *(f"  {shown_text(line)}" for line in self.lines)]
        for table, rows, more in self._shown_tables():
            lines += ["", f"{shown_text(table.caption)}:"] if table.caption else [""]
            cells = [[shown_text(cell) for cell in row] for row in (table.headers, *rows)]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            padded = (map(str.ljust, row, widths) for row in cells)
            lines += (f"  {'  '.join(row)}".rstrip() for row in padded)
            lines += [f"  {more}"] if more else []
        return "\n".join(lines)

    def html(self) -> str:
        """Return it as HTML without scripts, whatever its parts contain."""
        parts = [f"<div><strong>{_html(self.title)}</strong></div>"]
        parts += (f"<div>{_html(line)}</div>" for line in self.lines)
        for table, rows, more in self._shown_tables():
            head = "".join(f"<th{_CELL}>{_html(header)}</th>" for header in table.headers)
            body = "".join(
                f"<tr>{''.join(f'<td{_CELL}>{_html(cell)}</td>' for cell in row)}</tr>" for row in rows
            )
            shown = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            shown += f"<div>{more}</div>" if more else ""
            caption = _html(table.caption)
            if table.is_folded:
                shown = f"<details><summary>{caption}</summary>{shown}</details>"
            elif caption:
                shown = f"<div>{caption}</div>{shown}"
            parts.append(shown)
        return f'<div class="{_PLAIN}">{"".join(parts)}</div>'

    def _shown_tables(self) -> Iterator[tuple[DisplayTable, list[Sequence[str]], str]]:
        """Yield each table with the rows that are shown, and a line about those that are not."""
        left = MAX_ROWS
        tables = iter(self.tables)
        for table in tables:
            remaining = iter(table.rows)
            rows = list(islice(remaining, left))
            left -= len(rows)
            hidden = sum(1 for _ in remaining)
            if hidden:  # the limit is reached: count the rest
                hidden += sum(1 for other in tables for _ in other.rows)
            if rows or hidden:
                yield table, rows, f"and {hidden:,} more" if hidden else ""


class Displayed:
    """A base of objects that show themselves; `_display` describes them."""

    def _display(self) -> Display:
        """Return the description."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self._display().text()

    def _repr_html_(self) -> str:
        return self._display().html()


def shown_text(text: str) -> str:
    """Return a text in one line, not too long, and without characters that control a terminal."""
    from etconfig.diagnostics.escape import escape_line, shorten

    return escape_line(shorten(text, MAX_CELL))


def shown_names(names: Iterable[str]) -> str:
    """Return the first of some names, and how many more there are."""
    listed = list(names)
    more = len(listed) - MAX_LISTED
    first = ", ".join(map(shown_text, listed[:MAX_LISTED]))
    return f"{first} and {more:,} more" if more > 0 else first or "none"


def count_text(count: int, noun: str) -> str:
    """Return a number of things: `1 option`, `2 options`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def part_text(part: int, whole: int, noun: str, verb: str) -> str:
    """Return how many of some things do something: `1 of 4 devices gets`, `2 of 4 devices get`."""
    does = f"{verb}s" if 1 in (part, whole) else verb
    return f"{part:,} of {count_text(whole, noun)} {does}"


def _html(text: str) -> str:
    return shown_text(text).translate(_HTML)
