"""`SourceText`: a named text that turns offsets into spans; and marks of merge conflicts in texts."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from etconfig.base.records import record
from etconfig.diagnostics.span import Span


@record(frozen=True)
class SourceText:
    """A text and its name.

    Attributes:
        name: File path or name, as diagnostics show it.
        text: The whole text; lines end with a line feed.
    """

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    @cached_property
    def _lines(self) -> dict[int, str]:
        """Lines by number; kept so that a thousand problems in one long line share its text."""
        return {}

    def line_and_column(self, at: int) -> tuple[int, int]:
        """Return the 1-based line and column of an offset."""
        line = bisect_right(self._line_starts, at)
        return line, at - self._line_starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """Return the span of `text[start:end]`; it ends with the first line if the piece has more."""
        line, column = self.line_and_column(start)
        text = self._line(line)
        length = max(1, min(end - start, len(text) - column + 1))
        return Span(file=self.name, line=line, column=column, length=length, text=text)

    def _line(self, line: int) -> str:
        if line not in self._lines:
            start = self._line_starts[line - 1]
            end = self.text.find("\n", start)
            self._lines[line] = self.text[start : end if end >= 0 else len(self.text)]
        return self._lines[line]


CONFLICT_MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
"""The starts of the lines with marks, in the order of a conflict."""

CONFLICT_HELP = "resolve it, and remove its marks"


def conflict_line(text: str) -> int | None:
    """Return the number of the first line with a mark of a conflict, or None if there is none."""
    lines = enumerate(text.split("\n"), 1)
    return next((number for number, line in lines if line.startswith(CONFLICT_MARKS)), None)
