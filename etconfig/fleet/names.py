"""Names in SQL, and names of facts as columns."""

from __future__ import annotations


def quoted_name(name: str) -> str:
    """Return the name of a column or table as SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Return a text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def fact_of_column(column: str) -> str:
    """Return the fact that a column is named after: two underscores may stand for a dot."""
    return column.replace("__", ".")
