"""A result for people, described once: `View` and `Table`, objects that have one, and words for counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from etconfig.base.records import record

MAX_ROWS = 10_000
"""The most rows of a table, and the most blocks of a text, that are printed."""
MAX_LISTED = 4
"""The most names that one line lists."""
MAX_CELL = 120
"""The most characters of a cell of an object that shows itself, and of a name in a line."""


@record(frozen=True, kw_only=True)
class Table:
    """Rows below their headers.

    Attributes:
        headers: The headers of the columns. In Markdown and on pages, a header may have several lines, of
            which all but the first are names.
        rows: The cells of each row, texts and counts; may be produced while they are written.
        caption: The text above them; empty for none.
        keys: The names of the columns in JSON; empty for a table that is not written as JSON.
        count: The number of rows, if it is known: then only rows that are shown are made.
        is_folded: True if readers of HTML and Markdown open it by a click on its caption.
    """

    headers: Sequence[str]
    rows: Iterable[Sequence[str | int]]
    caption: str = ""
    keys: Sequence[str] = ()
    count: int | None = None
    is_folded: bool = False

    def first_rows(self, limit: int | None = None) -> tuple[list[list[str]], int]:
        """Return the cells of the first rows as texts, and the number of rows that follow."""
        remaining = iter(self.rows)
        rows = [
            [f"{cell:,}" if isinstance(cell, int) else cell for cell in row]
            for row in islice(remaining, limit)
        ]
        more = sum(1 for _ in remaining) if self.count is None else self.count - len(rows)
        return rows, more

    def to_jsonable(self) -> list[dict[str, str | int]]:
        """The rows as plain data."""
        return [dict(zip(self.keys, row, strict=True)) for row in self.rows]


@record(frozen=True, kw_only=True)
class View:
    """The description of a result.

    Attributes:
        title: What it is, in one line.
        lines: Further lines.
        tables: Its contents; those without rows are left out.
    """

    title: str
    lines: Sequence[str] = ()
    tables: Sequence[Table] = ()


def cell_text(text: str, limit: int | None = None) -> str:
    """Return a text as it is shown: in one line, not too long, nothing in it controls a terminal."""
    from etconfig.diagnostics.escape import MAX_TEXT, escape_line, shorten

    return escape_line(shorten(text, limit or MAX_TEXT))


def shown_text(text: str) -> str:
    """Return a text in one line, as objects show it that show themselves."""
    return cell_text(text, MAX_CELL)


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
