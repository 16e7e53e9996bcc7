"""`JsonText`: JSON with the positions of its parts, which the standard library does not keep."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from etconfig.diagnostics.source_text import SourceText

_SPACE = re.compile(r"[ \t\n\r]*")
_LONGEST_INT = 20


class JsonSpan(NamedTuple):
    """A range of the text, as offsets."""

    start: int
    end: int


class JsonMember(NamedTuple):
    """A member of an object, with the positions of its key and value."""

    key: str
    value: Any
    key_place: JsonSpan
    value_place: JsonSpan


class JsonText:
    """A text from `source` that is, or should be, JSON."""

    def __init__(self, text: str, source: str) -> None:
        self.source = SourceText(source, text)
        self._text = text
        self._decoder = json.JSONDecoder(parse_int=parse_json_int)

    def decode(self) -> Any:
        """Return the value of the text.

        Raises:
            json.JSONDecodeError: it is not valid JSON.
            RecursionError: it nests too deeply.
        """
        return self._decoder.decode(self._text)

    def members(self, start: int) -> Iterator[JsonMember]:
        """Yield the members of the outermost object at or after `start`, including duplicates.

        The text must be valid JSON there.
        """
        brace = _skip_space(self._text, start)
        at = _skip_space(self._text, brace + 1)
        while self._text[at] != "}":
            key, key_end = self._decoder.raw_decode(self._text, at)
            colon = _skip_space(self._text, key_end)
            value_start = _skip_space(self._text, colon + 1)
            value, value_end = self._decoder.raw_decode(self._text, value_start)
            yield JsonMember(key, value, JsonSpan(at, key_end), JsonSpan(value_start, value_end))
            at = _skip_space(self._text, value_end)
            if self._text[at] == ",":
                at = _skip_space(self._text, at + 1)


def parse_json_int(digits: str) -> int | float:
    """Return the number that digits spell; an integer beyond 64 bits may become a float.

    `int` takes quadratic time, and no valid number is as long.
    """
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None  # the pattern matches the empty string too
    return match.end()
