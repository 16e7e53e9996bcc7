"""`MethodPatterns`: many glob patterns, of which those that fit a method's name are found quickly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate

_MAX_PIECE = 8
"""The most characters of a literal piece that are looked up: short ones keep the look-ups few."""

_WILDCARDS = re.compile(r"[*?\[\]]")


class MethodPatterns:
    """Glob patterns over the names of methods, in the sense of `fnmatch.fnmatchcase`.

    Comparing every name with every pattern would take time with their product. So each pattern is filed
    under a literal piece of it, and a name is compared only with those whose piece it contains.

    Args:
        patterns: The patterns, each once.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._filed: dict[str, list[tuple[str, Callable[[str], object]]]] = {}
        for pattern in patterns:
            self._filed.setdefault(_literal_piece(pattern), []).append((pattern, name_matcher(pattern)))
        self._lengths = sorted({len(piece) for piece in self._filed})

    def fitting(self, method: str) -> list[str]:
        """Return the patterns that fit a method's name."""
        if not self._filed:
            return []
        pieces = {
            method[start : start + length]
            for length in self._lengths
            for start in range(len(method) - length + 1 if length else 1)
        }
        near = (entry for piece in pieces for entry in self._filed.get(piece, ()))
        return [pattern for pattern, fits in near if fits(method)]


def name_matcher(pattern: str) -> Callable[[str], object]:
    """Return a function that returns something true for the names that a pattern fits.

    Patterns with no wildcard but `*`, which are most, need no regular expression: compiling one takes
    longer than all comparisons of a small document.
    """
    if _WILDCARDS.search(pattern.replace("*", "")):
        return re.compile(translate(pattern)).match
    first, *pieces = pattern.split("*")
    if not pieces:
        return pattern.__eq__

    def fits(name: str) -> bool:
        *middle, last = pieces
        end = len(name) - len(last)
        if not name.startswith(first) or not name.endswith(last):
            return False
        position = len(first)
        for piece in middle:
            position = name.find(piece, position, end)
            if position < 0:
                return False
            position += len(piece)
        return position <= end

    return fits


def _literal_piece(pattern: str) -> str:
    """Return characters that every name contains which the pattern fits; empty if it has none."""
    outside = re.sub(r"\[.*\]", "*", pattern)  # from the first bracket to the last
    return max(_WILDCARDS.split(outside), key=len)[:_MAX_PIECE]
