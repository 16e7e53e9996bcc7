"""Keys and tables that a text writes twice."""

from __future__ import annotations

import re

from etconfig.diagnostics import Diagnostic, Fix, Span
from etconfig.diagnostics.source_text import SourceText
from etconfig.mistakes.toml.value_guesses import shortened

_HEADER = re.compile(r"[ \t]*(\[{1,2})[ \t]*([^\[\]]+?)[ \t]*\]{1,2}")
_LINES = re.compile(r"[^\n]+")
_NAMED_BY = {"executor": "name"}
"""Keys of project files whose value may also be written inside of their table, under this name."""
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
    value = _value_as_table(source.text, start, name, is_header=is_table) if earlier is None else None
    if value is not None:
        return _value_and_table(source, span, value[1], value.start(1))
    if earlier is None:
        problem = f"{written} contradicts an earlier key or table"
        return _diagnostic(problem, (span,), "write each key and table once")
    number = source.line_and_column(earlier.start(1))[0]
    spans = (span, source.span(earlier.start(1), earlier.end()))
    if not is_table and source.text[earlier.end() :].lstrip().startswith("."):
        return _value_and_table(source, spans[1], name, start + begin)
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
    return re.compile(rf"^[ \t]*()(?:{escaped}|\"{escaped}\"|'{escaped}')(?=[ \t]*[=.])", re.M).search(
        text, start, end
    )


def _value_as_table(text: str, end: int, name: str, *, is_header: bool) -> re.Match[str] | None:
    """Return the earlier line in which a table around a header or key has a value, as `a = 1` and `[a.b]`.

    Its group 1 is the key. Parts in quotes are not compared: they may contain dots.
    """
    table: list[str] = []
    values: dict[str, re.Match[str]] = {}
    for line in _LINES.finditer(text, 0, end):
        header, key = (pattern.match(text, *line.span()) for pattern in (_HEADER, _KEY))
        if header is not None:
            table = _parts(header[2])
        elif key is not None:
            values.setdefault(".".join((*table, *_parts(key[1]))), key)
    written = _parts(name) if is_header else [*table, *_parts(name)]
    prefixes = (".".join(written[:count]) for count in range(1, len(written) + is_header))
    return next((values[prefix] for prefix in prefixes if prefix in values), None)


def _parts(name: str) -> list[str]:
    return [part.strip() for part in name.split(".")]


def _value_and_table(source: SourceText, table: Span, key: str, offset: int) -> Diagnostic:
    """Return the problem of a key at `offset` that has a value there, and is a table in another line."""
    number, end = source.line_and_column(offset)[0], offset + len(key)
    span = source.span(offset, end)
    problem = f"{shortened(key)} cannot both have a value and be a table"
    inner = _NAMED_BY.get(_parts(key)[-1])
    if inner is None:
        return _diagnostic(problem, (table, span), "rename one of the two")
    line = source.text[end:].partition("\n")[0].strip()
    fix = Fix(span=span, replacement=f"{key}.{inner}", is_safe=True)
    return _diagnostic(
        problem, (table, span), f"write in line {number}: {key}.{inner} {shortened(line)}", fix
    )


def _diagnostic(problem: str, spans: tuple[Span, ...], help: str, fix: Fix | None = None) -> Diagnostic:
    message = f"invalid TOML: {problem}"
    return Diagnostic(code="invalid-toml", message=message, spans=spans, help=help, fix=fix)
