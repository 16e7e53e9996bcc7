"""Reports as Markdown, such as for comments on pull requests."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.report.model import Table, View, cell_text

_PLAIN = frozenset("-._:/@,=+*()[]{}'\" #%$~!?;^")
"""Characters beside letters and digits that mean nothing inside a code span of a table."""


def markdown_text(view: View) -> str:
    """Return a report as Markdown; cells are code, and nothing else in it is markup either."""
    lines = [f"**{_escaped(view.title)}**", *map(_escaped, view.lines)]
    return "\n".join([*(f"{line}\n" for line in lines), *filter(None, map(_table, view.tables))])


def _table(table: Table) -> str:
    rows, _ = table.first_rows()
    if not rows:
        return ""
    head = "| " + " | ".join("<br>".join(_header(header)) for header in table.headers) + " |\n"
    rule = "|" + " --- |" * len(table.headers) + "\n"
    content = head + rule + "".join(f"| {' | '.join(map(_code, row))} |\n" for row in rows)
    caption = _escaped(table.caption)
    if table.is_folded:
        return f"<details><summary>{caption}</summary>\n\n{content}\n</details>\n"
    return f"{caption}:\n\n{content}" if caption else content


def _header(header: str) -> Iterator[str]:
    first, *names = header.split("\n")
    yield _escaped(first)
    yield from map(_code, names)


def _code(text: str) -> str:
    """Return a text as code in a cell: as a code span, or with entities if it has marks of its own."""
    text = cell_text(text)
    if not text:
        return ""
    if all(c.isalnum() or c in _PLAIN for c in text) and text == text.strip():
        return f"`{text}`"
    return f"<code>{_escaped(text)}</code>"


def _escaped(text: str) -> str:
    """Return a text with an entity for each character that may mean something in Markdown."""
    kept = frozenset(" ,-._:/")
    return "".join(c if c.isalnum() or c in kept or ord(c) > 127 else f"&#{ord(c)};" for c in cell_text(text))
