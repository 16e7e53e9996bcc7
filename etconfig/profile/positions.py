"""The positions of keys and values in a TOML document, found by one pass over text that is known to be valid.

tomli reports positions for syntax errors only. Because the text is known to be valid, this scanner checks
nothing: it follows keys, brackets and strings, and takes everything else up to a delimiter as a value.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

import tomli

from etconfig.base.source_characters import string_end

KeyPath: TypeAlias = "tuple[str | int, ...]"
"""Keys and indices from the root of the document, e.g. `("when", 0, "if")`."""


class Position(NamedTuple):
    """Offsets into the text.

    Attributes:
        key_start: First character of the key, or of the value for an element of an array.
        key_end: Just past the key.
        value_start: First character of the value, or of the key for a table without a value of its own.
        value_end: Just past the value.
    """

    key_start: int
    key_end: int
    value_start: int
    value_end: int


def scan_positions(text: str) -> dict[KeyPath, Position]:
    """Return the position of every key and array element in `text`, which must be valid TOML.

    A table made by a header or a dotted key has the position of the key that first names it; an element of
    an array of tables has the position of its own header.
    """
    scanner = _Scanner(text)
    scanner.scan()
    return scanner.positions


class Header(NamedTuple):
    """A table header.

    Attributes:
        path: The path of the table that it opens, with the index of an element of an array of tables.
        start: Offset of its first bracket.
        end: Offset just past its last bracket.
        is_array: True if it has double brackets.
    """

    path: KeyPath
    start: int
    end: int
    is_array: bool


def scan_headers(text: str) -> tuple[list[Header], dict[KeyPath, Position]]:
    """Return the headers of `text`, which must be valid TOML, in order; and the positions of all keys."""
    scanner = _Scanner(text)
    scanner.scan()
    return scanner.headers, scanner.positions


_BLANK = re.compile(r"[ \t\n]*")
_KEY_PART = re.compile(r"""[ \t]*([A-Za-z0-9_-]+|"[^"\\\n]*"|'[^'\n]*'|(?="))""")
_AFTER_KEY_PART = re.compile(r"[ \t]*([.=\]])[ \t]*")
_ONE_LINE_STRING = re.compile(r"""("[^"\\\n]*"|'[^'\n]*')(?!["'])""")
_PLAIN_ELEMENT = re.compile(r"""[ \t\n]*([\w.+-]+|"[^"\\\n]*"|'[^'\n]*')[ \t\n]*(?:,|(?=\]))""", re.ASCII)
_BARE_VALUE = re.compile(r"[^\n,#\]}]*[^\s,#\]}]")


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.offset = 0
        self.positions: dict[KeyPath, Position] = {}
        self.headers: list[Header] = []
        self.table_counts: dict[KeyPath, int] = {}  # how often each [[header]] has occurred so far

    def scan(self) -> None:
        table: KeyPath = ()
        while next_character := self.skip_blank():
            if next_character == "[":
                table = self.header()
            else:
                self.key_and_value(table)

    def skip_blank(self) -> str:
        """Skip blanks, newlines and comments; returns the next character, empty at the end."""
        while True:
            self.offset = _end(_BLANK, self.text, self.offset)
            if not self.text.startswith("#", self.offset):
                return self.text[self.offset : self.offset + 1]
            line_end = self.text.find("\n", self.offset)
            self.offset = len(self.text) if line_end < 0 else line_end

    def header(self) -> KeyPath:
        """Read `[key]` or `[[key]]`; returns the path of the table that it opens."""
        first, is_array = self.offset, self.text.startswith("[[", self.offset)
        self.offset += 2 if is_array else 1
        path, start, end = self.key(())
        position = Position(start, end, start, end)
        self.positions.setdefault(path, position)
        if is_array:
            self.offset += 1
            count = self.table_counts.get(path, 0)
            self.table_counts[path] = count + 1
            path = (*path, count)
            self.positions[path] = position
        self.headers.append(Header(path, first, self.text.rindex("]", first, self.offset) + 1, is_array))
        return path

    def key_and_value(self, table: KeyPath) -> None:
        path, start, end = self.key(table)
        value_start = self.offset
        self.value(path)
        self.positions[path] = Position(start, end, value_start, self.offset)

    def key(self, path: KeyPath) -> tuple[KeyPath, int, int]:
        """Read a dotted key below `path` and the `=` or `]` after it.

        Returns:
            The whole path, and where its last part starts and ends.
        """
        while True:
            part, start, end = self.key_part()
            path = (*path, part)
            match = _AFTER_KEY_PART.match(self.text, end)
            assert match is not None
            self.offset = match.end()
            if match.group(1) != ".":
                return path, start, end
            self.positions.setdefault(path, Position(start, end, start, end))
            if path in self.table_counts:  # a header below an array of tables refers to the last element
                path = (*path, self.table_counts[path] - 1)

    def key_part(self) -> tuple[str, int, int]:
        match = _KEY_PART.match(self.text, self.offset)
        assert match is not None
        start, end = match.span(1)
        if start == end:  # a quoted key with escapes
            end = string_end(self.text, start)
            return tomli.loads(f"key = {self.text[start:end]}")["key"], start, end
        part = match.group(1)
        return part[1:-1] if part[0] in "\"'" else part, start, end

    def value(self, path: KeyPath) -> None:
        """Skip the value at `path`, recording what is inside it."""
        character = self.text[self.offset]
        if character in "\"'":
            match = _ONE_LINE_STRING.match(self.text, self.offset)
            self.offset = match.end() if match else string_end(self.text, self.offset)
        elif character == "[":
            self.array(path)
        elif character == "{":
            self.inline_table(path)
        else:
            self.offset = _end(_BARE_VALUE, self.text, self.offset)

    def array(self, path: KeyPath) -> None:
        self.offset += 1
        index = 0
        while self.skip_blank() != "]":
            while match := _PLAIN_ELEMENT.match(self.text, self.offset):
                start, self.offset = match.start(1), match.end()
                element = (*path, index)
                self.positions[element] = Position(start, match.end(1), start, match.end(1))
                index += 1
            if self.skip_blank() == "]":
                break
            start = self.offset
            element = (*path, index)
            self.value(element)
            self.positions[element] = Position(start, self.offset, start, self.offset)
            index += 1
            self.skip_comma()
        self.offset += 1

    def inline_table(self, path: KeyPath) -> None:
        self.offset += 1
        while self.skip_blank() != "}":
            self.key_and_value(path)
            self.skip_comma()
        self.offset += 1

    def skip_comma(self) -> None:
        if self.skip_blank() == ",":
            self.offset += 1


def _end(pattern: re.Pattern[str], text: str, offset: int) -> int:
    match = pattern.match(text, offset)
    assert match is not None
    return match.end()
