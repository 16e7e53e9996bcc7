r"""Paths of Windows in double quotes, whose backslashes TOML takes for escapes: `"C:\temp"` has a tab in it.

This module is imported only for texts that contain one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from etconfig.diagnostics import Diagnostic, Fix, Span

_ESCAPED_PATH = re.compile(r'"[A-Za-z]:(\\[bfnrt])[^"\n]*"')
_CHARACTERS = {
    r"\b": "a backspace",
    r"\f": "a form feed",
    r"\n": "a line break",
    r"\r": "a carriage return",
    r"\t": "a tab",
}


def escaped_path_problems(spans: Iterable[Span]) -> list[Diagnostic]:
    """Return a problem for each key or value that is a drive with a control character after it.

    Args:
        spans: The places of the keys and values.
    """
    found = []
    for span in dict.fromkeys(spans):
        written = span.underlined or ""
        match = _ESCAPED_PATH.fullmatch(written)
        if match is None:
            continue
        path = "'" + written[1:-1].replace("\\\\", "\\") + "'"
        is_plain = "'" not in path[1:-1]
        found.append(
            Diagnostic(
                code="invisible-character",
                message=f"the path {written} contains {_CHARACTERS[match[1]]}: {match[1]} is an escape",
                spans=(span,),
                help=f"write backslashes in single quotes: {path}"
                if is_plain
                else "write each backslash twice",
                fix=Fix(span=span, replacement=path, is_safe=True) if is_plain else None,
            )
        )
    return found
