"""`Document`: a TOML document, checked against bounds before it is parsed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli

from etconfig.base.parameters import home_help
from etconfig.base.records import record
from etconfig.base.source_characters import find_invisible
from etconfig.diagnostics import Diagnostic, Fix, Span
from etconfig.diagnostics.source_text import SourceText
from etconfig.errors import DocumentError
from etconfig.flatbuffer.identifier import has_program_identifier
from etconfig.profile.bounds import MAX_DOCUMENT_BYTES, check_bounds, document_error, too_large
from etconfig.profile.positions import Header, KeyPath, Position, scan_headers, scan_positions

_ESCAPED_DRIVE = re.compile(r'"[A-Za-z]:\\[bfnrt]')
_OTHER_ENCODINGS = (
    (re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff|[^\0]\0\0\0|\0\0\0[^\0]"), "UTF-32"),
    (re.compile(rb"\xff\xfe|\xfe\xff|[^\0]\0|\0[^\0]", re.DOTALL), "UTF-16"),
)
"""The starts of files in encodings that TOML does not allow: a byte order mark, or ASCII without one."""
_READ_AT_ONCE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Opens even a named pipe without waiting for its writer. O_BINARY keeps line ends on Windows."""


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

    @cached_property
    def headers(self) -> Mapping[tuple[str, ...], Sequence[Header]]:
        """The headers of each table and of those below it, by its name without indices."""
        found: dict[tuple[str, ...], list[Header]] = {}
        for header in scan_headers(self.source.text)[0]:
            names = tuple(part for part in header.path if isinstance(part, str))
            for length in range(1, len(names) + 1):
                found.setdefault(names[:length], []).append(header)
        return found

    def key_span(self, path: KeyPath) -> Span:
        """Return the span of the key that `path` ends with; the whole value for an element of an array."""
        position = self.positions[path]
        return self.source.span(position.key_start, position.key_end)

    def value_span(self, path: KeyPath) -> Span:
        """Return the span of the value at `path`; the header for a table that has one."""
        position = self.positions[path]
        return self.source.span(position.value_start, position.value_end)


def load_document(path: Path, texts: Mapping[str, str] | None = None) -> Document:
    """Read and parse the file at `path`.

    Args:
        path: The file.
        texts: Texts that count in place of files, by the real paths of these, such as unsaved ones.

    Raises:
        DocumentError: it cannot be read, is too large, is not UTF-8, or is not valid TOML.
    """
    name = str(path)
    if texts and (text := texts.get(os.path.realpath(path))) is not None:
        return parse_document(text, name, path=path)
    try:
        content = _read_bounded(path)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        problem = f"cannot read {name}: {getattr(error, 'strerror', None) or error}"
        raise document_error("unreadable-file", problem, Span(file=name), home_help(path)) from error
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
        raise too_large(start)
    if b"\0" in content[:4] and has_program_identifier(content):  # no text has one, so few are asked
        problem = f"{name} is an ExecuTorch program, not TOML"
        help = "give it where a program is expected: to `etconfig validate`, as --program"
        raise document_error("invalid-toml", problem, start, help)
    encoding = next((encoding for pattern, encoding in _OTHER_ENCODINGS if pattern.match(content)), None)
    if encoding is not None:
        raise document_error("invalid-toml", f"{name} is {encoding}", start, "save the file as UTF-8")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        span = SourceText(name, before).span(len(before), len(before))
        problem = f"byte {error.start} (0x{content[error.start]:02x}) is not UTF-8"
        raise document_error("invalid-toml", problem, span, "save the file as UTF-8") from error
    return parse_document(text, name, path=path)


def parse_document(text: str, name: str, *, path: Path | None = None) -> Document:
    """Parse `text`; diagnostics call it `name`.

    Raises:
        DocumentError: the text is too large, too deep, or not valid TOML.
    """
    source = SourceText(name, text.replace("\r\n", "\n"))
    if len(text) > MAX_DOCUMENT_BYTES:
        raise too_large(Span(file=name))
    if text.startswith("\ufeff"):
        problem, mark = "the file starts with a byte order mark", source.span(0, 1)
        fix = Fix(span=mark, replacement="", is_safe=True)
        raise document_error("invalid-toml", problem, mark, "save it as UTF-8 without one", fix)
    check_bounds(source)
    try:
        data = tomli.loads(text)  # drops the same carriage returns; twice would accept one too many
    except tomli.TOMLDecodeError as error:
        from etconfig.mistakes.toml.syntax_problems import syntax_problems

        raise DocumentError(diagnostics=syntax_problems(source, error)) from error
    except (ValueError, RecursionError) as error:
        raise document_error("invalid-toml", f"invalid TOML: {error}", source.span(0, 0)) from error
    document = Document(source, data, path)
    _check_keys(document)
    if ":\\" in text and _ESCAPED_DRIVE.search(text):
        _check_paths(document)
    return document


def _check_paths(document: Document) -> None:
    """Refuse paths of Windows whose backslashes are escapes: what they name is never what was meant."""
    from etconfig.mistakes.profile.windows_paths import escaped_path_problems

    keys = [document.key_span(path) for path in document.positions if isinstance(path[-1], str)]
    problems = escaped_path_problems([*keys, *map(document.value_span, document.positions)])
    if problems:
        raise DocumentError(diagnostics=tuple(problems))


def _keys_in(value: object) -> Iterator[str]:
    """Yield the keys of all tables in a value."""
    if isinstance(value, dict):
        yield from value
        value = [*value.values()]
    for each in value if isinstance(value, list) else ():
        yield from _keys_in(each)


def _check_keys(document: Document) -> None:
    """Refuse keys with invisible characters: such a key looks like another one."""
    text = document.source.text
    if text.isascii() and "\\" not in text:  # an escape may spell any character
        return
    if all(find_invisible(key) is None for key in _keys_in(document.data)):
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
    raise DocumentError(diagnostics=tuple(problems))
