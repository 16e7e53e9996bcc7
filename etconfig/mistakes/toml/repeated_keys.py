"""Keys and tables that a text writes twice."""

from __future__ import annotations

import re

from etconfig.diagnostics import Diagnostic, Fix, Span
from etconfig.diagnostics.source_text import SourceText
from etconfig.mistakes.toml.value_guesses import shortened

_HEADER = re.compile(r"[ \t]*(\[{1,2})[ \t]*([^\[\]]+?)[ \t]*\]{1,2}")
_KEY = re.compile(r"[ \t]*([^=\[\]{}#\s][^=\[\]{}#\n]*?)[ \t]*=")


def is_header(line: str) -> bool:
    """Return True if a line is a table header."""
    return _HEADER.match(line) is not None


def repeated_key(source: SourceText, start: int, line: str) -> Diagnostic:
    """Return the problem of a line at offset `start`, which repeats an earlier key or table."""
    match = _HEADER.match(line) or _KEY.match(line)
    if match is None:  # the last line of a value of several lines
        span = source.span(start, start + len(line))
        return _diagnostic("a key is written twice", (span,), "remove one of the two")
    is_table = match.re is _HEADER
    name = match[2] if is_table else match[1]
    begin, end = match.start(1), match.end() if is_table else match.end(1)
    span, written = source.span(start + begin, start + end), shortened(line[begin:end])
    earlier = _earlier(source.text, start, name, is_table=is_table)
    if earlier is None:
        problem = f"{written} contradicts an earlier key or table"
        return _diagnostic(problem, (span,), "write each key once, as a value or as a table")
    number = source.line_and_column(earlier.start(1))[0]
    spans = (span, source.span(earlier.start(1), earlier.end()))
    opening = source.text[earlier.start(1) : earlier.end(1)]
    if is_table and opening != match[1] and opening in ("[", "[["):
        wrong = span if match[1] == "[" else spans[1]
        fix = Fix(span=wrong, replacement=f"[[{name}]]")
        problem = f"[{name}] is one table, and [[{name}]] one of several"
        return _diagnostic(problem, spans, f"write [[{name}]] in both places", fix)
    if is_table:
        advice = "put the keys of both tables into one, without the second header"
    else:
        advice = "remove one of the two"
    return _diagnostic(f"{written} is written twice, first in line {number}", spans, advice)


def _earlier(text: str, end: int, name: str, *, is_table: bool) -> re.Match[str] | None:
    """Return where a header or a key of the same table is first written, its start as group 1."""
    escaped = re.escape(name)
    if is_table:
        return re.compile(rf"^[ \t]*(\[{{1,2}})[ \t]*{escaped}[ \t]*\]{{1,2}}", re.M).search(text, 0, end)
    table = text.rfind("\n[", 0, end)
    start = max(table, 0)
    return re.compile(rf"^[ \t]*()(?:{escaped}|\"{escaped}\"|'{escaped}')(?=[ \t]*=)", re.M).search(
        text, start, end
    )


def _diagnostic(problem: str, spans: tuple[Span, ...], help: str, fix: Fix | None = None) -> Diagnostic:
    message = f"invalid TOML: {problem}"
    return Diagnostic(code="invalid-toml", message=message, spans=spans, help=help, fix=fix)
