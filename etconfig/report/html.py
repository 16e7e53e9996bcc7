"""Reports as objects show themselves in notebooks: plain HTML without a page around it."""

from __future__ import annotations

from functools import partial

from etconfig.report.model import MAX_CELL, View, cell_text
from etconfig.report.text import own_tables

_OWN_CELL = ' style="text-align: left; vertical-align: top"'  # notebooks align to the right
_OWN_CLASS = "tex2jax_ignore mathjax_ignore"  # or notebooks would typeset what is between two dollar signs


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


def _table(caption: str, head: str, body: str, *, is_folded: bool, after: str = "") -> str:
    """Return a table whose caption is above it, or opens it; `after` belongs to it."""
    above = f"<caption>{caption}</caption>" if caption and not is_folded else ""
    table = f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}"
    return f"<details><summary>{caption}</summary>{table}</details>" if is_folded else table


def _escaped(text: str, limit: int | None = None) -> str:
    from html import escape

    return escape(cell_text(text, limit))
