"""Helpers for readers of TOML text: the ends of strings, and invisible characters."""

from __future__ import annotations

import re
import unicodedata

_ESCAPE_OR_QUOTE = re.compile(r'\\.|"', re.DOTALL)


def string_end(text: str, start: int) -> int:
    """Return the offset just past the TOML string that opens at `start`, or the end of the text."""
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
    """Return the index of the first character that is invisible or reorders visible ones, or None.

    These are Unicode's format characters (zero-width, bidirectional controls, tags), line separators,
    blank letters and variation selectors: with them, two different names look alike.
    Source: CVE-2021-42574; Unicode's property Default_Ignorable_Code_Point.
    """
    if text.isascii():
        return None
    for index, character in enumerate(text):
        if unicodedata.category(character) in ("Cf", "Zl", "Zp") or _is_blank(character):
            return index
    return None


def find_unprintable(text: str) -> str | None:
    """Return the first character of a name that cannot be seen, such as `U+202E`, or None.

    These are the characters of `find_invisible`, control characters and lone surrogates.
    """
    index = find_invisible(text)
    if index is None:
        index = next((at for at, character in enumerate(text) if not character.isprintable()), None)
    return None if index is None else f"U+{ord(text[index]):04X}"


_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_VARIATION_SELECTORS = (("\u180b", "\u180f"), ("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))


def _is_blank(character: str) -> bool:
    return character in _BLANKS or any(low <= character <= high for low, high in _VARIATION_SELECTORS)
