"""`Fix`: a change of the text that solves the problem of a diagnostic."""

from __future__ import annotations

import re

from etconfig.diagnostics.span import Span
from etconfig.records import record

_BARE = re.compile(r"[\w.+-]+", re.ASCII)
_QUOTABLE = re.compile(r"""[^"'\\\x00-\x1f\x7f]*""")


@record(frozen=True, kw_only=True)
class Edit:
    """The replacement of a piece of one line.

    Attributes:
        span: The text to replace, all of it in one line.
        replacement: The text to write there.
    """

    span: Span
    replacement: str


@record(frozen=True, kw_only=True)
class Fix(Edit):
    """A change of the text that a tool can apply.

    Attributes:
        span: The text to replace, all of it in one line.
        replacement: The text to write there.
        is_safe: True if the text keeps its meaning and only the spelling changes. A change that
            rests on a guess is not safe.
        further: Replacements at other places of the same file; all are made, or none.
    """

    is_safe: bool = False
    further: tuple[Edit, ...] = ()

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All replacements."""
        return (self, *self.further)


@record(frozen=True)
class Respelling:
    """A word that is written, and the word to write in its place.

    Attributes:
        wrong: The word that is written.
        right: The word to write.
        is_safe: As for `Fix`.
    """

    wrong: str
    right: str
    is_safe: bool = False

    def at(self, span: Span) -> Fix | None:
        """Return the fix if the text at `span` is exactly the wrong word; quotes around it are kept.

        None if the text differs (it has escapes, several lines or more words), or if the right word would
        need other quotes or escapes.
        """
        for quote in ("", "'", '"'):
            if span.underlined != f"{quote}{self.wrong}{quote}":
                continue
            if not (_QUOTABLE if quote else _BARE).fullmatch(self.right):
                return None
            return Fix(span=span, replacement=f"{quote}{self.right}{quote}", is_safe=self.is_safe)
        return None
