"""Diagnostics as workflow commands of GitHub Actions, which shows them next to the lines.

Source: GitHub Docs, "Workflow commands"; the escapes are those of actions/toolkit, command.ts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from etconfig.diagnostics.escape import escape_lines, shorten
from etconfig.diagnostics.model import Diagnostic, Severity

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
