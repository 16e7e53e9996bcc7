"""`JsonObject`: an object in a JSON text with the places of its parts, which the standard library drops."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*")
_LONGEST_INT = 20


class JsonSpan(NamedTuple):
    """A range of the text, as offsets."""

    start: int
    end: int


class JsonObject:
    """An object in a JSON text. The places of its members are looked for when something asks for one.

    Args:
        text: The whole text, which is valid JSON.
        pairs: The members in order, with repeated keys, as `decode_json` returns them.
        find_start: Returns the offset of the object.

    Attributes:
        pairs: The members.
    """

    def __init__(self, text: str, pairs: tuple[tuple[str, Any], ...], find_start: Callable[[], int]) -> None:
        self.pairs = pairs
        self._text = text
        self._find_start = find_start

    @cached_property
    def members(self) -> dict[str, Any]:
        """The members by key; the last one of a repeated key."""
        return dict(self.pairs)

    @property
    def repeated(self) -> list[int]:
        """The positions of members whose key was there before."""
        seen: set[str] = set()
        found = []
        if len(self.members) < len(self.pairs):
            for index, (key, _) in enumerate(self.pairs):
                if key in seen:
                    found.append(index)
                seen.add(key)
        return found

    def position(self, key: str) -> int:
        """Return the position of the last member with this key."""
        return self._positions[key]

    def object_at(self, index: int) -> JsonObject:
        """Return the object that is the value of a member."""
        return JsonObject(self._text, self.pairs[index][1], lambda: self.value_place(index).start)

    def key_place(self, index: int) -> JsonSpan:
        """Return the place of the key of a member."""
        return self._places[index][0]

    def value_place(self, index: int) -> JsonSpan:
        """Return the place of the value of a member."""
        return self._places[index][1]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {key: index for index, (key, _) in enumerate(self.pairs)}

    @cached_property
    def _places(self) -> list[tuple[JsonSpan, JsonSpan]]:
        text, places = self._text, []
        at = _skip_space(text, _skip_space(text, self._find_start()) + 1)
        while text[at] != "}":
            key_end = _DECODER.raw_decode(text, at)[1]
            colon = _skip_space(text, key_end)
            value_start = _skip_space(text, colon + 1)
            value_end = _DECODER.raw_decode(text, value_start)[1]
            places.append((JsonSpan(at, key_end), JsonSpan(value_start, value_end)))
            at = _skip_space(text, value_end)
            if text[at] == ",":
                at = _skip_space(text, at + 1)
        return places


def decode_json(text: str) -> Any:
    """Return the value of a text. Its objects are tuples of pairs, so that repeated keys show.

    Raises:
        json.JSONDecodeError: it is not valid JSON.
        RecursionError: it nests too deeply.
    """
    return _DECODER.decode(text)


def plain_json(value: Any) -> Any:
    """Return a value that `decode_json` returned with its objects as dicts."""
    if isinstance(value, tuple):
        return {key: plain_json(each) for key, each in value}
    return [plain_json(each) for each in value] if isinstance(value, list) else value


def parse_json_int(digits: str) -> int | float:
    """Return the number that digits spell; an integer beyond 64 bits may become a float.

    `int` takes quadratic time, and no valid number is as long.
    """
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


_DECODER = json.JSONDecoder(parse_int=parse_json_int, object_pairs_hook=tuple)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None  # the pattern matches the empty string too
    return match.end()
