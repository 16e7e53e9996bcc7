"""Marks of merge conflicts, which git leaves in files."""

from __future__ import annotations

CONFLICT_MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
"""The starts of the lines with marks, in the order of a conflict."""

CONFLICT_HELP = "resolve it, and remove its marks"


def conflict_line(text: str) -> int | None:
    """Return the number of the first line with a mark of a conflict, or None if there is none."""
    lines = enumerate(text.split("\n"), 1)
    return next((number for number, line in lines if line.startswith(CONFLICT_MARKS)), None)
