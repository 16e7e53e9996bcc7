"""Diagnostics as workflow commands of GitHub Actions, which shows them next to the lines.

Source: GitHub Docs, "Workflow commands"; the escapes are those of actions/toolkit, command.ts.
"""

from __future__ import annotations

from etconfig.diagnostics.escape import escape_text, shorten
from etconfig.diagnostics.model import Diagnostic, Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


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
    text = escape_text(shorten(text), keep="\r\n\t")
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
