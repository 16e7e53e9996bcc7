"""`ExpressionSource`: an expression's text and its place in a file, for diagnostics."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import ProfileError
from etconfig.records import record


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
        escapes or several lines, it underlines the whole string and gives the place in a note.
        """
        if self._offset is None:
            line = self.text.count("\n", 0, start) + 1
            column = start - self.text.rfind("\n", 0, start)
            place = f"line {line}, column {column}" if "\n" in self.text else f"column {column}"
            note = f"this is at {place} of the expression"
            return Diagnostic(code=code, message=message, spans=(self.span,), notes=(note,), help=help)
        column = self.span.column + self._offset + start
        span = replace(self.span, column=column, length=max(1, end - start))
        return Diagnostic(code=code, message=message, spans=(span,), help=help)

    def error(
        self, message: str, start: int, end: int, *, code: str = "invalid-expression", help: str | None = None
    ) -> ProfileError:
        """Return an error with this one diagnostic."""
        return ProfileError(diagnostics=(self.diagnostic(message, start, end, code=code, help=help),))

    @cached_property
    def _offset(self) -> int | None:
        """The offset of the expression inside the span, if it is written there character by character."""
        start = self.span.column - 1
        written = (self.span.text or "")[start : start + self.span.length]
        for delimiter in ("'", '"', "'''", '"""', ""):
            if written == f"{delimiter}{self.text}{delimiter}":
                return len(delimiter)
        return None
