"""`JsonText`: JSON that remembers where its parts stand. The standard library's forgets."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from etconfig.diagnostics import Span

_SPACE = re.compile(r"[ \t\n\r]*")
_LONGEST_INT = 20


class Place(NamedTuple):
    """A piece of the text, as offsets."""

    start: int
    end: int


class Member(NamedTuple):
    """A member of an object, and where it stands."""

    key: str
    value: Any
    key_place: Place
    value_place: Place


class JsonText:
    """A text from `source` that is, or should be, JSON."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self._text = text
        self._decoder = json.JSONDecoder(parse_int=_parse_int)
        self._lines: dict[int, str] = {}

    def decode(self) -> Any:
        """The value of the text.

        Raises:
            json.JSONDecodeError: it is not valid JSON.
            RecursionError: it nests too deeply.
        """
        return self._decoder.decode(self._text)

    def members(self, start: int) -> Iterator[Member]:
        """The members of the outermost object that stands at or after `start`, duplicates included.

        The text must be valid JSON there.
        """
        brace = _skip_space(self._text, start)
        at = _skip_space(self._text, brace + 1)
        while self._text[at] != "}":
            key, key_end = self._decoder.raw_decode(self._text, at)
            colon = _skip_space(self._text, key_end)
            value_start = _skip_space(self._text, colon + 1)
            value, value_end = self._decoder.raw_decode(self._text, value_start)
            yield Member(key, value, Place(at, key_end), Place(value_start, value_end))
            at = _skip_space(self._text, value_end)
            if self._text[at] == ",":
                at = _skip_space(self._text, at + 1)

    def line_and_column(self, at: int) -> tuple[int, int]:
        """The 1-based line and column of an offset."""
        line = bisect_right(self._line_starts, at)
        return line, at - self._line_starts[line - 1] + 1

    def span(self, place: Place) -> Span:
        """The place for a diagnostic; of several lines, the first."""
        line, column = self.line_and_column(place.start)
        text = self._line(line)
        length = max(1, min(place.end - place.start, len(text) - column + 1))
        return Span(file=self.source, line=line, column=column, length=length, text=text)

    def _line(self, line: int) -> str:
        # kept, so that a thousand problems in one long line share its text
        if line not in self._lines:
            start = self._line_starts[line - 1]
            end = self._text.find("\n", start)
            self._lines[line] = self._text[start : end if end >= 0 else len(self._text)]
        return self._lines[line]

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self._text))]


def _parse_int(digits: str) -> int | float:
    # int() takes quadratic time, and no number of interest is as long
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None  # the pattern matches the empty string too
    return match.end()
