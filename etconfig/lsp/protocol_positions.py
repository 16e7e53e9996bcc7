"""Positions of the protocol: lines, and columns in units of an encoding, by default UTF-16.

Source: Language Server Protocol 3.17, sections Position and Text Documents.
"""

from __future__ import annotations

import os

from lsprotocol import types

from etconfig.base.records import record
from etconfig.diagnostics.span import Span

_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@record(frozen=True)
class EditorColumns:
    """EditorColumns of an encoding: the units of each character before the place.

    Attributes:
        encoding: `utf-8`, `utf-16` or `utf-32`.
    """

    encoding: str = "utf-16"

    def of(self, line: str, index: int) -> int:
        """Return the column of the character `line[index]`."""
        before = line[:index]
        if before.isascii():
            return len(before)
        codec, width = _CODECS[self.encoding]
        return len(before.encode(codec, "surrogatepass")) // width

    def index(self, line: str, column: int) -> int:
        """Return the index of the character at a column; of the line's end for one beyond it."""
        if line.isascii():
            return min(max(column, 0), len(line))
        codec, width = _CODECS[self.encoding]
        units = line.encode(codec, "surrogatepass")[: max(column, 0) * width]
        return len(units.decode(codec, "ignore"))

    def offset(self, text: str, position: types.Position) -> int:
        """Return the offset of a position in a text; one that is out of bounds means the nearest place."""
        start = 0
        for _ in range(position.line):
            end = text.find("\n", start)
            if end < 0:
                return len(text)
            start = end + 1
        end = text.find("\n", start)
        line = text[start : len(text) if end < 0 else end].removesuffix("\r")
        return start + self.index(line, position.character)

    def position(self, text: str, offset: int) -> types.Position:
        """Return the position of an offset in a text."""
        start = text.rfind("\n", 0, offset) + 1
        return types.Position(text.count("\n", 0, offset), self.of(text[start:offset], offset - start))

    def range(self, span: Span) -> types.Range:
        """Return the range of a span; of its line's start if it has no text."""
        line, index, text = span.line - 1, span.column - 1, span.text
        start, end = (0, 0) if text is None else (self.of(text, index), self.of(text, index + span.length))
        return types.Range(types.Position(line, start), types.Position(line, end))

    def edit(self, before: str, after: str) -> types.TextEdit:
        """Return the smallest single edit that makes one text of another."""
        start = len(os.path.commonprefix((before, after)))  # noqa: RUF071  (texts, not paths)
        end = len(os.path.commonprefix((before[start:][::-1], after[start:][::-1])))  # noqa: RUF071
        last = len(before) - end
        if before[last - 1 : last + 1] == "\r\n":  # a position cannot be between the two
            last, end = last - 1, end + 1
        place = types.Range(self.position(before, start), self.position(before, last))
        return types.TextEdit(place, after[start : len(after) - end])
