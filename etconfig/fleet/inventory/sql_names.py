"""Names in SQL, and names of facts as columns."""

from __future__ import annotations

import os
import re
from pathlib import Path
from shlex import quote


def quoted_name(name: str) -> str:
    """Return the name of a column or table as SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Return a text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def fact_of_column(column: str) -> str:
    """Return the fact that a column is named after: two underscores may stand for a dot."""
    return column.replace("__", ".")


def shell_word(text: str) -> str:
    """Return a text as a word for a shell; as `$'...'` of bash and zsh, if some characters do not print."""
    if text.isprintable():
        return quote(text)
    plain = text.replace("\\", r"\\").replace("'", r"\'")
    return "$'" + "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in plain) + "'"


def quoted_path(path: Path) -> str:
    """Return the path of one file as SQL that reads; there `*`, `?` and `[` would be a pattern."""
    return quoted_text(re.sub(r"([*?\[])", r"[\1]", os.fspath(path)))
