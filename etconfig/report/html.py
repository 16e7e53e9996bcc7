"""Reports as HTML without scripts: a part of a notebook, or a page that needs nothing else."""

from __future__ import annotations

from functools import partial

from etconfig.base.written_files import FileKind, head_of
from etconfig.report.model import MAX_CELL, Table, View, cell_text
from etconfig.report.text import own_tables

_OWN_CELL = ' style="text-align: left; vertical-align: top"'  # notebooks align to the right
_OWN_CLASS = "tex2jax_ignore mathjax_ignore"  # or notebooks would typeset what is between two dollar signs

_STYLE = """\
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
caption { font-weight: bold; padding: .25rem 0; text-align: left; }
th, td { border: 1px solid #8886; padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { background: #8882; }
td:not(:first-child) { overflow-wrap: anywhere; min-width: 4rem; max-width: 24rem; }
td.number { font-variant-numeric: tabular-nums; text-align: right; }
code { font: 13px ui-monospace, monospace; white-space: pre-wrap; }
.scroll { overflow-x: auto; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_MARK = '<meta name="generator" content="etconfig'
PAGE = FileKind("a page that `etconfig fleet` wrote", lambda path: _MARK.encode() in head_of(path))


def own_html(view: View) -> str:
    """Return a report as an object shows itself in a notebook, whatever its parts contain."""
    escaped = partial(_escaped, limit=MAX_CELL)
    parts = [f"<div><strong>{escaped(view.title)}</strong></div>"]
    parts += (f"<div>{escaped(line)}</div>" for line in view.lines)
    for table, rows, more in own_tables(view):
        head = "".join(f'<th scope="col"{_OWN_CELL}>{escaped(header)}</th>' for header in table.headers)
        cells = ("".join(f"<td{_OWN_CELL}>{escaped(cell)}</td>" for cell in row) for row in rows)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        after = f"<div>{more}</div>" if more else ""
        parts.append(_table(escaped(table.caption), head, body, is_folded=table.is_folded, after=after))
    return f'<div class="{_OWN_CLASS}">{"".join(parts)}</div>'


def html_page(view: View) -> str:
    """Return a report as a whole page, without anything from elsewhere; cells are code."""
    title = _escaped(view.title)
    lines = "".join(f"<p>{_escaped(line)}</p>\n" for line in view.lines)
    tables = "".join(map(_page_table, view.tables))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{_MARK}">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n{lines}{tables}</body>\n</html>\n"
    )


def _page_table(table: Table) -> str:
    heads = ("<br>".join(map(_escaped, header.split("\n"))) for header in table.headers)
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    body = "".join(f"<tr>{''.join(map(_page_cell, row))}</tr>\n" for row in table.rows)
    found = _table(_escaped(table.caption), head, f"\n{body}", is_folded=table.is_folded)
    return f'<div class="scroll">{found}</div>\n' if body else ""


def _page_cell(cell: str | int) -> str:
    if isinstance(cell, int):
        return f'<td class="number">{cell:,}</td>'
    return f"<td><code>{_escaped(cell)}</code></td>"


def _table(caption: str, head: str, body: str, *, is_folded: bool, after: str = "") -> str:
    """Return a table whose caption is above it, or opens it; `after` belongs to it."""
    above = f"<caption>{caption}</caption>" if caption and not is_folded else ""
    table = f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}"
    return f"<details><summary>{caption}</summary>{table}</details>" if is_folded else table


def _escaped(text: str, limit: int | None = None) -> str:
    from html import escape

    return escape(cell_text(text, limit))
