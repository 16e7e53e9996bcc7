"""The bounds of a TOML document, checked before the parser sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from etconfig.base.source_characters import string_end
from etconfig.diagnostics import Diagnostic, Fix, Span
from etconfig.diagnostics.source_text import SourceText
from etconfig.errors import DocumentError

MAX_DOCUMENT_BYTES = 1 << 20
"""The most bytes that a document may have."""
MAX_KEY_PARTS = 64
"""The most parts that a dotted key or a table header may have: parsing time grows with their square."""
MAX_NESTING = 32
"""The most arrays and inline tables inside each other."""
MAX_DIGITS = 64
"""The most digits that a number may have: parsing time grows with their square."""
MAX_PROBLEMS = 4_000
"""The most problems of a document that are looked for at once: each takes about 50 us."""

_LONG_NUMBER = re.compile(rf"[0-9][0-9a-fA-Fxob_]{{{MAX_DIGITS},}}")
_DIGITS = bytes(ord("0") if chr(byte) in "0123456789abcdefABCDEFxo_" else byte for byte in range(256))
_MANY_DIGITS = b"0" * MAX_DIGITS
_STRUCTURE = re.compile(rf"""[\n=,.\[\]{{}}"'#]|(?<!\w){_LONG_NUMBER.pattern}""")


def check_bounds(source: SourceText) -> None:
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
            raise document_error("document-too-large", problem, source.span(offset, offset + len(mark)))
        if depth > MAX_NESTING:
            problem = f"arrays and inline tables are nested more than {MAX_NESTING} deep"
            raise document_error("document-too-large", problem, source.span(offset, offset + 1))
        if parts > MAX_KEY_PARTS:
            problem = f"a key has more than {MAX_KEY_PARTS} parts"
            raise document_error("document-too-large", problem, source.span(offset, offset + 1))


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


def too_many_problems(last: Diagnostic) -> Diagnostic:
    """Return the error after the last problem that was looked for."""
    message = f"there are more than {MAX_PROBLEMS} problems; the rest was not checked"
    return Diagnostic(code="document-too-large", message=message, spans=last.spans[:1])


def too_large(span: Span) -> DocumentError:
    """Return the error for a document of too many bytes."""
    problem = f"the document is larger than {MAX_DOCUMENT_BYTES >> 20} MiB"
    return document_error("document-too-large", problem, span)


def document_error(
    code: str, message: str, span: Span, help: str | None = None, fix: Fix | None = None
) -> DocumentError:
    """Return the error for one problem."""
    problem = Diagnostic(code=code, message=message, spans=(span,), help=help, fix=fix)
    return DocumentError(diagnostics=(problem,))
