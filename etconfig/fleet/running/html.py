"""Tables as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from etconfig.base.records import record
from etconfig.base.written_files import FileKind, head_of

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}table{border-collapse:collapse;margin:1rem 0}"
    "th,td{padding:.3rem .8rem;border-bottom:1px solid #ccc;text-align:left;vertical-align:top}"
    "td.number{text-align:right;font-variant-numeric:tabular-nums}"
    "@media(prefers-color-scheme:dark){body{background:#16181c;color:#e8e8e8}th,td{border-color:#444}}"
)

_MARK = '<meta name="generator" content="etconfig fleet">'
PAGE = FileKind("a page that `etconfig fleet` wrote", lambda path: _MARK.encode() in head_of(path))


@record(frozen=True, kw_only=True)
class FleetTable:
    """A table of a report.

    Attributes:
        title: The heading.
        headers: The headers of the columns.
        rows: The rows, of texts and numbers.
    """

    title: str
    headers: tuple[str, ...]
    rows: Sequence[Sequence[str | int]]

    @property
    def texts(self) -> list[list[str]]:
        """The rows as texts."""
        return [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in self.rows]


def html_page(title: str, tables: Sequence[FleetTable]) -> str:
    """Return a page with tables, every text of them escaped."""
    body = "".join(map(_table, tables))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{_MARK}<title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}</body></html>\n"
    )


def _table(table: FleetTable) -> str:
    head = "".join(f'<th scope="col">{escape(header)}</th>' for header in table.headers)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in table.rows)
    body = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>\n"
    return f"<h2>{escape(table.title)}</h2>\n{body}"


def _cell(cell: str | int) -> str:
    if isinstance(cell, int):
        return f'<td class="number">{cell:,}</td>'
    return f"<td>{escape(cell)}</td>"
