"""`Document`: a TOML document, checked against bounds before it is parsed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli

from etconfig.diagnostics import Diagnostic, Span
from etconfig.diagnostics.source_text import SourceText
from etconfig.errors import DocumentError
from etconfig.flatbuffer.identifier import has_program_identifier
from etconfig.parameters import home_help
from etconfig.profile.positions import KeyPath, Position, scan_positions
from etconfig.profile.source_text import find_invisible, string_end
from etconfig.records import record

MAX_DOCUMENT_BYTES = 1 << 20
"""The most bytes that a document may have."""
MAX_KEY_PARTS = 64
"""The most parts that a dotted key or a table header may have: parsing time grows with their square."""
MAX_NESTING = 32
"""The most arrays and inline tables inside each other."""
MAX_DIGITS = 64
"""The most digits that a number may have: parsing time grows with their square."""

_READ_AT_ONCE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Opens even a named pipe without waiting for its writer. O_BINARY keeps line ends on Windows."""

_LIKELY_MEANT = {
    "Invalid value": 'strings are quoted, as in name = "value"; true and false are lower case',
    "Cannot overwrite a value": "a table may set each key once; remove or rename one of the two",
}
"""The help for messages of tomli."""


@record(frozen=True)
class Document:
    """A TOML document and the positions of its keys and values.

    Attributes:
        source: The text; carriage returns before line feeds are dropped, as TOML allows.
        data: The parsed document: tables are dicts, arrays are lists.
        path: The file it came from, or None if it came from a string.
    """

    source: SourceText
    data: Mapping[str, Any]
    path: Path | None = None

    @property
    def name(self) -> str:
        """File path or name, as diagnostics show it."""
        return self.source.name

    @cached_property
    def positions(self) -> Mapping[KeyPath, Position]:
        """The position of every key and value, found by one pass over the text on first use."""
        return scan_positions(self.source.text)

    def key_span(self, path: KeyPath) -> Span:
        """Return the span of the key that `path` ends with; the whole value for an element of an array."""
        position = self.positions[path]
        return self.source.span(position.key_start, position.key_end)

    def value_span(self, path: KeyPath) -> Span:
        """Return the span of the value at `path`; the header for a table that has one."""
        position = self.positions[path]
        return self.source.span(position.value_start, position.value_end)


def load_document(path: Path) -> Document:
    """Read and parse the file at `path`.

    Raises:
        DocumentError: it cannot be read, is too large, is not UTF-8, or is not valid TOML.
    """
    name = str(path)
    try:
        content = _read_bounded(path)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        problem = f"cannot read {name}: {getattr(error, 'strerror', None) or error}"
        raise _document_error("unreadable-file", problem, Span(file=name), home_help(path)) from error
    return _parse_bytes(content, name, path)


def _read_bounded(path: Path) -> bytes:
    descriptor = os.open(path, _READ_AT_ONCE)  # a file object would double the time
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        # asking for a whole MiB at once would take longer than parsing a small file
        content = os.read(descriptor, min(status.st_size, MAX_DOCUMENT_BYTES) + 1)
        while len(content) != status.st_size and len(content) <= MAX_DOCUMENT_BYTES:
            more = os.read(descriptor, MAX_DOCUMENT_BYTES)
            if not more:  # it has shrunk, or the system does not report its size
                break
            content += more
        return content
    finally:
        os.close(descriptor)


def _parse_bytes(content: bytes, name: str, path: Path) -> Document:
    start = Span(file=name)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise _too_large(start)
    if has_program_identifier(content):
        problem = f"{name} is an ExecuTorch program, not TOML"
        help = "give it where a program is expected: to `etconfig validate`, as --program"
        raise _document_error("invalid-toml", problem, start, help)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        span = SourceText(name, before).span(len(before), len(before))
        problem = f"byte {error.start} (0x{content[error.start]:02x}) is not UTF-8"
        raise _document_error("invalid-toml", problem, span, "save the file as UTF-8") from error
    return parse_document(text, name, path=path)


def parse_document(text: str, name: str, *, path: Path | None = None) -> Document:
    """Parse `text`; diagnostics call it `name`.

    Raises:
        DocumentError: the text is too large, too deep, or not valid TOML.
    """
    source = SourceText(name, text.replace("\r\n", "\n"))
    if len(text) > MAX_DOCUMENT_BYTES:
        raise _too_large(Span(file=name))
    if text.startswith("\ufeff"):
        problem = "the file starts with a byte order mark"
        raise _document_error("invalid-toml", problem, source.span(0, 1), "save it as UTF-8 without one")
    _check_bounds(source)
    try:
        data = tomli.loads(text)  # drops the same carriage returns; twice would accept one too many
    except tomli.TOMLDecodeError as error:
        problem = f"invalid TOML: {error.msg[0].lower()}{error.msg[1:]}"
        span = _failure_span(source, error.pos)
        raise _document_error("invalid-toml", problem, span, _LIKELY_MEANT.get(error.msg)) from error
    except (ValueError, RecursionError) as error:
        raise _document_error("invalid-toml", f"invalid TOML: {error}", source.span(0, 0)) from error
    document = Document(source, data, path)
    _check_keys(document)
    return document


_LONG_NUMBER = re.compile(rf"[0-9][0-9a-fA-Fxob_]{{{MAX_DIGITS},}}")
_DIGITS = bytes(ord("0") if chr(byte) in "0123456789abcdefABCDEFxo_" else byte for byte in range(256))
_MANY_DIGITS = b"0" * MAX_DIGITS
_STRUCTURE = re.compile(rf"""[\n=,.\[\]{{}}"'#]|(?<!\w){_LONG_NUMBER.pattern}""")


def _check_bounds(source: SourceText) -> None:
    """Refuse documents that would take the parser too long.

    For most documents, counting characters shows that they are harmless; only the rest are scanned.
    """
    text = source.text
    is_plain = (
        text.count(".") < MAX_KEY_PARTS
        and text.count("[") + text.count("{") <= MAX_NESTING
        and _MANY_DIGITS not in text.encode(errors="replace").translate(_DIGITS)
    )
    if is_plain:
        return
    parts, depth = 1, 0
    for offset, mark in _structure(text):
        if mark in "[{":
            parts, depth = 1, depth + 1
        elif mark in "]}":
            parts, depth = 1, max(0, depth - 1)
        elif mark == ".":
            parts += 1
        elif mark in "\n=,":
            parts = 1
        elif _digit_count(mark) > MAX_DIGITS:
            problem = f"a number has more than {MAX_DIGITS} digits"
            raise _document_error("document-too-large", problem, source.span(offset, offset + len(mark)))
        if depth > MAX_NESTING:
            problem = f"arrays and inline tables are nested more than {MAX_NESTING} deep"
            raise _document_error("document-too-large", problem, source.span(offset, offset + 1))
        if parts > MAX_KEY_PARTS:
            problem = f"a key has more than {MAX_KEY_PARTS} parts"
            raise _document_error("document-too-large", problem, source.span(offset, offset + 1))


def _structure(text: str) -> Iterator[tuple[int, str]]:
    """Yield the characters and long numbers, outside strings and comments, that the bounds depend on."""
    position = 0
    while match := _STRUCTURE.search(text, position):
        mark, position = match.group(), match.end()
        if mark == "#":
            position = text.find("\n", position)
            if position < 0:
                return
        elif mark in "\"'":
            position = string_end(text, match.start())
        else:
            yield match.start(), mark


def _digit_count(word: str) -> int:
    return len(re.sub("^0[xob]|_", "", word))


def _check_keys(document: Document) -> None:
    """Refuse keys with invisible characters: such a key looks like another one."""
    text = document.source.text
    if text.isascii() and "\\" not in text:  # an escape may spell any character
        return
    problems = [
        Diagnostic(
            code="invisible-character",
            message=f"the key {key!a} contains the invisible character U+{ord(key[index]):04X}",
            spans=(document.key_span(path),),
            help="retype the key",
        )
        for path in document.positions
        if isinstance(key := path[-1], str) and (index := find_invisible(key)) is not None
    ]
    if problems:
        raise DocumentError(diagnostics=tuple(problems))


def _failure_span(source: SourceText, offset: int) -> Span:
    """Return the span of the character at which the parser failed, or of the end of the last line."""
    last = len(source.text.rstrip("\n"))
    return source.span(min(offset, last), min(offset, last) + 1)


def _too_large(span: Span) -> DocumentError:
    problem = f"the document is larger than {MAX_DOCUMENT_BYTES >> 20} MiB"
    return _document_error("document-too-large", problem, span)


def _document_error(code: str, message: str, span: Span, help: str | None = None) -> DocumentError:
    return DocumentError(diagnostics=(Diagnostic(code=code, message=message, spans=(span,), help=help),))
