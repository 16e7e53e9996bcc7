r"""Paths of Windows in double quotes, whose backslashes TOML takes for escapes: `"C:\temp"` has a tab in it.

This module is imported only for texts that contain one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from etconfig.diagnostics import Diagnostic, Fix, Span

_ESCAPED_PATH = re.compile(r'"[A-Za-z]:(\\[bfnrt])[^"\n]*"')


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
        problem = f"the path {written} contains a control character: {match[1]} is an escape"
        path = written[1:-1].replace("\\\\", "\\")
        fix = None if "'" in path else Fix(span=span, replacement=f"'{path}'", is_safe=True)
        help = f"write backslashes in single quotes: '{path}'" if fix else "write each backslash twice"
        found.append(
            Diagnostic(code="invisible-character", message=problem, spans=(span,), help=help, fix=fix)
        )
    return found
