"""Renderers: the same diagnostics as text for people, one line each, or in a format for tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from etconfig.diagnostics.diagnostic import Diagnostic, Severity
from etconfig.diagnostics.escape import escape_line, escape_lines, shorten
from etconfig.diagnostics.fix import Fix
from etconfig.diagnostics.span import Span

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def one_for_each_place(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Join the problems of one code at one place, such as a value that is wrong on each device in its way.

    GitHub shows ten annotations of a step. The messages of the others become notes of the first one.
    """
    found: dict[object, Diagnostic] = {}
    for each in diagnostics:
        key = (each.code, each.severity, each.spans[0]) if each.spans else each
        first = found.setdefault(key, each)
        if first is not each and first != each:
            found[key] = replace(first, notes=(*first.notes, each.message, *each.notes))
    return list(found.values())


def render_github(diagnostic: Diagnostic) -> str:
    """Return one command, such as `::error file=a.toml,line=1,col=2,endColumn=4,title=code::message`."""
    properties: dict[str, object] = {}
    if diagnostic.spans:
        span = diagnostic.spans[0]
        end = span.column + span.length
        properties = {"file": span.file, "line": span.line, "col": span.column, "endColumn": end}
    properties["title"] = diagnostic.code
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{_COMMANDS[diagnostic.severity]} {listed}::{_data(diagnostic.full_text)}"


def _data(text: str) -> str:
    return escape_lines(shorten(text)).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMATS = ("text", "concise", "json", "sarif", "github")
"""The forms that `render` accepts."""

_MAX_EXCERPT = 160
"""The most characters of a line that are shown: a file of one long line must not flood the terminal."""
_BEFORE = 60
"""How many of them come before the place, if a longer line is cut."""

MAX_DIAGNOSTICS = 500
"""The most diagnostics that are printed for people; formats for programs have all."""

Style = Callable[[str, str], str]
"""A function that styles a text for a role: `error`, `warning`, `note`, `path` or `gutter`."""


def plain(_role: str, text: str) -> str:
    """Return the text as it is: the style for a pipe."""
    return text


_SGR = {"error": "1;31", "warning": "1;33", "note": "1;36", "help": "1;32", "path": "1", "gutter": "34"}


def ansi(role: str, text: str) -> str:
    """Return the text with escape sequences: the style for a color terminal."""
    return f"\x1b[{_SGR[role]}m{text}\x1b[0m"


def worth_showing(diagnostics: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """Return at most `MAX_DIAGNOSTICS` in their order; errors before warnings if there are more."""
    if len(diagnostics) <= MAX_DIAGNOSTICS:
        return diagnostics
    by_importance = sorted(range(len(diagnostics)), key=lambda at: not diagnostics[at].is_error)
    return [diagnostics[at] for at in sorted(by_importance[:MAX_DIAGNOSTICS])]


def render(diagnostics: Iterable[Diagnostic], form: str, style: Style = plain) -> str:
    """Render diagnostics in the form named `form`; the text ends with a newline unless it is empty.

    Args:
        diagnostics: In the order in which they are shown.
        form: One of `FORMATS`.
        style: Styles the form `text`; the other forms have no style.

    Raises:
        ValueError: no such form.
    """
    if form == "text":
        return "".join(render_text(d, style) for d in diagnostics)
    if form == "concise":
        return "".join(f"{render_concise(d)}\n" for d in diagnostics)
    if form == "json":
        return _dump([to_jsonable(d) for d in diagnostics])
    if form == "sarif":
        from etconfig.diagnostics.sarif import sarif_log  # urllib comes with it

        return _dump(sarif_log(diagnostics))
    if form == "github":
        return "".join(f"{render_github(d)}\n" for d in one_for_each_place(diagnostics))
    raise ValueError(f"no diagnostic format {form!r}; expected one of {', '.join(FORMATS)}")


def render_concise(diagnostic: Diagnostic) -> str:
    """Render one line for editors and grep: `file:line:column: code message; help`."""
    place = f"{_shown(diagnostic.spans[0].place)}: " if diagnostic.spans else ""
    help = f"; {_shown(diagnostic.help)}" if diagnostic.help else ""
    devices = f" ({_shown(diagnostic.all_notes[-1])})" if diagnostic.devices else ""
    return f"{place}{diagnostic.code} {_shown(diagnostic.message)}{devices}{help}"


def to_jsonable(diagnostic: Diagnostic) -> Mapping[str, object]:
    """Return the diagnostic as plain data."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "spans": [_span_data(span) for span in diagnostic.spans],
        "notes": list(diagnostic.all_notes),
        "help": diagnostic.help,
        "fix": _fix_data(diagnostic.fix) if diagnostic.fix else None,
    }


def _span_data(span: Span) -> Mapping[str, object]:
    return {"file": span.file, "line": span.line, "column": span.column, "length": span.length}


def _fix_data(fix: Fix) -> Mapping[str, object]:
    data = {"span": _span_data(fix.span), "replacement": fix.replacement, "is_safe": fix.is_safe}
    further = [{"span": _span_data(each.span), "replacement": each.replacement} for each in fix.further]
    return {**data, "further": further} if further else data


def _dump(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def render_text(diagnostic: Diagnostic, style: Style = plain) -> str:
    """Render several lines: message and code, the place, the line with the text underlined, notes, help."""
    severity = diagnostic.severity
    lines = [f"{style(severity.value, severity.value)}[{diagnostic.code}]: {_shown(diagnostic.message)}"]
    width = max((len(str(span.line)) for span in diagnostic.spans), default=1)
    for span in diagnostic.spans:
        lines += _excerpt(span, width, severity, style)
    indent = " " * width
    lines += [f"{indent} = {style('note', 'note')}: {_shown(note)}" for note in diagnostic.all_notes]
    if diagnostic.help:
        lines.append(f"{indent} = {style('help', 'help')}: {_shown(diagnostic.help)}")
    return "\n".join(lines) + "\n"


def _shown(text: str) -> str:
    """Return a part of a diagnostic in one line, escaped and not too long."""
    return escape_line(shorten(text))


def _in_place(text: str) -> str:
    """Replace characters that could control a terminal or reorder the line; the width stays the same."""
    return "".join(c if c == "\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _around(text: str, column: int) -> tuple[str, int]:
    """Cut a long line around a column; return the rest and the new position of the column."""
    if len(text) <= _MAX_EXCERPT:
        return text, column
    start = max(0, min(column - 1 - _BEFORE, len(text) - _MAX_EXCERPT))
    end = start + _MAX_EXCERPT
    head, tail = ("..." if start else ""), ("..." if end < len(text) else "")
    return f"{head}{text[start:end]}{tail}", column - start + len(head)


def _excerpt(span: Span, width: int, severity: Severity, style: Style) -> list[str]:
    lines = [f"{' ' * width}{style('gutter', '-->')} {style('path', _shown(span.place))}"]
    if span.text is None:
        return lines
    bar = style("gutter", "|")
    text, column = _around(span.text, span.column)
    # Tabs stay tabs under the line, so that the underline meets the text at any tab width.
    before = "".join("\t" if c == "\t" else " " for c in text[: column - 1])
    marks = style(severity.value, "^" * max(1, min(span.length, len(text) - column + 1)))
    number = style("gutter", str(span.line).rjust(width))
    lines.append(f"{' ' * width} {bar}")
    lines.append(f"{number} {bar} {_in_place(text)}")
    lines.append(f"{' ' * width} {bar} {before}{marks}")
    return lines
