"""A matrix as Markdown for comments on pull requests, and as an HTML page of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from etconfig.analysis.device_matrix import DeviceMatrix
from etconfig.analysis.expected_matrix import MatrixDifference
from etconfig.base.records import record
from etconfig.cli.rendering.matrix_text import names_of
from etconfig.cli.shared.listings import cell_text
from etconfig.diagnostics import Diagnostic
from etconfig.display import count_text
from etconfig.resolver.explaining.difference import ABSENT_TEXT

Shown: TypeAlias = Callable[[Diagnostic], Diagnostic]
"""Gives the files of a problem the names that readers know."""

_MAX_NAMES = 6
"""The most devices that the head of a column names."""
_PLAIN = frozenset("-._:/@,=+*()[]{}'\" #%$~!?;^")
"""Characters beside letters and digits that mean nothing inside a code span of a table."""

_STYLE = """\
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
th, td { border: 1px solid #8886; padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { background: #8882; }
td:not(:first-child) { overflow-wrap: anywhere; min-width: 4rem; max-width: 24rem; }
code { font: 13px ui-monospace, monospace; white-space: pre-wrap; }
.scroll { overflow-x: auto; }
.error { color: #c22; }
"""


@record(frozen=True, kw_only=True)
class MarkupTable:
    """A table in both forms.

    Attributes:
        title: The heading.
        headers: The headers of the columns; each may have several lines, of which the first is text and the
            others are names.
        rows: The cells, which are shown as code.
        is_folded: True if the reader opens it.
    """

    title: str
    headers: Sequence[Sequence[str]]
    rows: Sequence[Sequence[str]]
    is_folded: bool = False


def matrix_markdown(
    matrix: DeviceMatrix, differences: Sequence[MatrixDifference] | None, *, every: bool, shown: Shown
) -> str:
    """Return the matrix as Markdown; names and values are code, so nothing in them is markup."""
    parts = [f"**{matrix.summary}**\n"]
    for table in _tables(matrix, differences, every=every, shown=shown):
        head = "| " + " | ".join("<br>".join(_markdown_head(each)) for each in table.headers) + " |\n"
        rule = "|" + " --- |" * len(table.headers) + "\n"
        body = "".join(f"| {' | '.join(map(_markdown_code, row))} |\n" for row in table.rows)
        content = head + rule + body
        if table.is_folded:
            content = f"<details><summary>{table.title}</summary>\n\n{content}\n</details>\n"
        else:
            content = f"{table.title}:\n\n{content}"
        parts.append(content)
    return "\n".join(parts)


def matrix_html(
    matrix: DeviceMatrix, differences: Sequence[MatrixDifference] | None, *, every: bool, shown: Shown
) -> str:
    """Return the matrix as a whole page, without scripts and without anything from elsewhere."""
    parts = [f"<h1>What each device gets</h1>\n<p>{_html(matrix.summary)}</p>\n"]
    for table in _tables(matrix, differences, every=every, shown=shown):
        head = "".join(f"<th>{'<br>'.join(map(_html, each))}</th>" for each in table.headers)
        body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>\n" for row in table.rows)
        content = f'<div class="scroll"><table>\n<tr>{head}</tr>\n{body}</table></div>\n'
        if table.is_folded:
            content = f"<details><summary>{table.title}</summary>\n{content}</details>\n"
        else:
            content = f"<h2>{table.title}</h2>\n{content}"
        parts.append(content)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>What each device gets</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
        f"{''.join(parts)}</body>\n</html>\n"
    )


def _tables(
    matrix: DeviceMatrix, differences: Sequence[MatrixDifference] | None, *, every: bool, shown: Shown
) -> Iterator[MarkupTable]:
    """Yield the tables: differences and problems first, since they are the news."""
    if differences:
        rows = [
            (each.device, each.subject, each.expected or ABSENT_TEXT, each.got or ABSENT_TEXT)
            for each in differences
        ]
        title = f"{count_text(len(rows), 'difference')} from what is expected"
        yield MarkupTable(title=title, headers=_heads("device", "option", "expected", "got"), rows=rows)
    if matrix.problems:
        found = [
            (f"{problem.severity.value}: {problem.code}", str(shown(problem)), names_of(devices, matrix))
            for problem, devices in matrix.problems.items()
        ]
        yield MarkupTable(title="Problems", headers=_heads("problem", "message", "devices"), rows=found)
    numbers = matrix.result_numbers
    heads = [(str(result.number), *_first_names(result.devices)) for result in matrix.results]
    if matrix.differing:
        yield MarkupTable(
            title="Options that differ",
            headers=[("option",), *heads],
            rows=[(path, *matrix.values(path)) for path in matrix.differing],
        )
    yield MarkupTable(
        title="Devices",
        headers=_heads("device", "profile", "result"),
        rows=[
            (each.device, each.profile or "none", str(numbers.get(each.device, "error"))) for each in matrix
        ],
        is_folded=differences is not None,
    )
    differing = {*matrix.differing}
    same = [path for path in matrix.options if path not in differing] if every else []
    if same:
        yield MarkupTable(
            title="Options that are the same on every device",
            headers=_heads("option", "value"),
            rows=[(path, matrix.values(path)[0]) for path in same],
            is_folded=True,
        )


def _heads(*texts: str) -> list[tuple[str]]:
    return [(text,) for text in texts]


def _first_names(devices: Sequence[str]) -> Iterator[str]:
    yield from devices[:_MAX_NAMES]
    if len(devices) > _MAX_NAMES:
        yield f"and {len(devices) - _MAX_NAMES:,} more"


def _markdown_head(lines: Iterable[str]) -> Iterator[str]:
    first, *names = lines
    yield first
    yield from map(_markdown_code, names)


def _markdown_code(text: str) -> str:
    """Return a text as code in a cell: as a code span, or with entities if it has marks of its own."""
    text = cell_text(text)
    if not text:
        return ""
    if all(c.isalnum() or c in _PLAIN for c in text) and text == text.strip():
        return f"`{text}`"
    quoted = "".join(c if c.isalnum() or c in " -._:/" or ord(c) > 127 else f"&#{ord(c)};" for c in text)
    return f"<code>{quoted}</code>"


def _html_cell(text: str) -> str:
    return f"<td><code>{_html(text)}</code></td>"


def _html(text: str) -> str:
    """Escape a text for a page."""
    from html import escape

    return escape(cell_text(text))
