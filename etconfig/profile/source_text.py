"""A named text with lines: turns offsets into spans. Also what every reader of TOML text needs."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from etconfig.diagnostics import Span

_ESCAPE_OR_QUOTE = re.compile(r'\\.|"', re.DOTALL)


@dataclass(frozen=True)
class SourceText:
    """A text and what to call it.

    Attributes:
        name: File path or name, as diagnostics show it.
        text: The whole text; lines end with a line feed alone.
    """

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def span(self, start: int, end: int) -> Span:
        """The span of `text[start:end]`; it ends with the first line if the piece has more."""
        line = bisect_right(self._line_starts, start)
        line_start = self._line_starts[line - 1]
        line_end = self.text.find("\n", line_start)
        if line_end < 0:
            line_end = len(self.text)
        return Span(
            file=self.name,
            line=line,
            column=start - line_start + 1,
            length=max(1, min(end, line_end) - start),
            text=self.text[line_start:line_end],
        )


def string_end(text: str, start: int) -> int:
    """The offset just past the TOML string that opens at `start`, or the text's end if it never closes."""
    quote = text[start]
    delimiter = quote * 3 if text.startswith(quote * 3, start) else quote
    position = start + len(delimiter)
    closing = text.find(delimiter, position) if quote == "'" else _find_unescaped(text, delimiter, position)
    if closing < 0:
        return len(text)
    end = closing + len(delimiter)
    if len(delimiter) == 3:
        for _ in range(2):  # a multi-line string may end with one or two quotes of its own
            end += text.startswith(quote, end)
    return end


def _find_unescaped(text: str, delimiter: str, position: int) -> int:
    while match := _ESCAPE_OR_QUOTE.search(text, position):
        if text.startswith(delimiter, match.start()):
            return match.start()
        position = match.end()
    return -1


def find_invisible(text: str) -> int | None:
    """The index of the first character that is not seen or reorders what is seen, or None.

    These are Unicode's format characters (zero-width, bidirectional controls, tags), line separators,
    blank letters and variation selectors: with them two names look alike and differ.
    Source: CVE-2021-42574; Unicode's property Default_Ignorable_Code_Point.
    """
    if text.isascii():
        return None
    for index, character in enumerate(text):
        if unicodedata.category(character) in ("Cf", "Zl", "Zp") or _is_blank(character):
            return index
    return None


_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_VARIATION_SELECTORS = (("\u180b", "\u180f"), ("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))


def _is_blank(character: str) -> bool:
    return character in _BLANKS or any(low <= character <= high for low, high in _VARIATION_SELECTORS)
