"""`ExpressionSource`: an expression's text and its place in a file, for diagnostics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Edit, Fix, Span
from etconfig.errors import ProfileError

_CHARACTER = re.compile(r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[btnfr\"\\])|[^\"\\]")
"""A character of a TOML string in double quotes, as it is written in one line."""


@record(frozen=True)
class ExpressionSource:
    """An expression's text and its place.

    Attributes:
        text: The expression.
        span: The place of the TOML string that contains it, or of the text itself.
    """

    text: str
    span: Span

    def diagnostic(
        self, message: str, start: int, end: int, *, code: str = "invalid-expression", help: str | None = None
    ) -> Diagnostic:
        """Return a diagnostic for `text[start:end]`.

        It underlines these characters in the file. Where that is impossible, because the TOML string has
        several lines, it underlines the whole string and gives the place in a note.
        """
        span = self.span_of(start, end)
        if span is not None:
            return Diagnostic(code=code, message=message, spans=(span,), help=help)
        line = self.text.count("\n", 0, start) + 1
        column = start - self.text.rfind("\n", 0, start)
        place = f"line {line}, column {column}" if "\n" in self.text else f"column {column}"
        note = f"this is at {place} of the expression"
        return Diagnostic(code=code, message=message, spans=(self.span,), notes=(note,), help=help)

    def error(
        self, message: str, start: int, end: int, *, code: str = "invalid-expression", help: str | None = None
    ) -> ProfileError:
        """Return an error with this one diagnostic."""
        return ProfileError(diagnostics=(self.diagnostic(message, start, end, code=code, help=help),))

    def span_of(self, start: int, end: int) -> Span | None:
        """Return the place of `text[start:end]`, at least one character; None if it is unknown."""
        if self._places is None:
            return None
        first = self._places[start]
        last = self._places[end] if end > start else first + 1
        return replace(self.span, column=self.span.column + first, length=max(1, last - first))

    def fix(self, start: int, end: int, replacement: str, *, is_safe: bool = False) -> Fix | None:
        """Return the fix that writes `replacement` in place of `text[start:end]`.

        Quotes in the replacement differ from the quotes of the TOML string, where there is a choice. None
        if the place of these characters is unknown, or if the replacement would need escapes.
        """
        span = self.span_of(start, end) if end > start else None
        if span is None or (self.delimiter and not _fits_inside(replacement, self.delimiter)):
            return None
        return Fix(span=span, replacement=replacement, is_safe=is_safe)

    def with_edits(self, edits: Iterable[Edit]) -> str:
        """Return the text of the expression after edits that `fix` made."""
        assert self._places is not None, "fix needs the places"
        offsets = {place: offset for offset, place in enumerate(self._places)}
        pieces: list[str] = []
        left = 0
        for edit in sorted(edits, key=lambda edit: edit.span.column):
            start = edit.span.column - self.span.column
            first, last = offsets.get(start), offsets.get(start + edit.span.length)
            if first is None or last is None or first < left:
                continue
            pieces += (self.text[left:first], edit.replacement)
            left = last
        return "".join((*pieces, self.text[left:]))

    def quoted(self, word: str) -> str:
        """Return a word as a string of an expression, with the quotes that fit into the TOML string."""
        return f"'{word}'" if self.delimiter.startswith('"') else f'"{word}"'

    def in_its_quotes(self, text: str) -> str:
        """Return an expression with the quotes that fit into the TOML string, where its strings allow it."""
        if not self.delimiter or self.delimiter[0] not in text:
            return text
        other = "'" if self.delimiter[0] == '"' else '"'
        return text if other in text else text.replace(self.delimiter[0], other)

    @property
    def delimiter(self) -> str:
        """The quotes of the TOML string that contains the expression; empty if none is known."""
        written = self.span.underlined or ""
        return next((each for each in ("'''", '"""', "'", '"') if written.startswith(each)), "")

    @cached_property
    def _places(self) -> Sequence[int] | None:
        """The offset inside the span of every character of the text, and of its end; None if unknown."""
        written = self.span.underlined or ""
        if written == self.text:
            return range(len(self.text) + 1)
        for delimiter in ("'", '"', "'''", '"""'):
            if written == f"{delimiter}{self.text}{delimiter}":
                return range(len(delimiter), len(delimiter) + len(self.text) + 1)
        if len(written) < 2 or written[0] != '"' or written[-1] != '"':
            return None
        places = [match.start() for match in _CHARACTER.finditer(written, 1, len(written) - 1)]
        places.append(len(written) - 1)
        return places if len(places) == len(self.text) + 1 else None


def _fits_inside(replacement: str, delimiter: str) -> bool:
    """Return True if a text can be written inside a TOML string with these quotes as it is."""
    return delimiter[0] not in replacement and "\\" not in replacement and replacement.isprintable()
