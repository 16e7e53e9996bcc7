"""`Fix`: a change of the text that solves the problem of a diagnostic."""

from __future__ import annotations

import re
from collections.abc import Collection

from etconfig.base.records import record
from etconfig.diagnostics.span import Span
from etconfig.diagnostics.suggest import is_certain

_BARE = re.compile(r"[\w.+-]+", re.ASCII)
_QUOTABLE = re.compile(r"""[^"'\\\x00-\x1f\x7f]*""")

_PLAIN_ARRAY = re.compile(r"\[[^\[\]]*\]")


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
        """Return the fix if the text at `span` is the wrong word; quotes around it are kept.

        None if the text differs (it has several lines or more words), or if the right word would need other
        quotes or escapes.
        """
        for quote in ("", "'", '"'):
            if span.underlined != f"{quote}{self.wrong}{quote}":
                continue
            if not (_QUOTABLE if quote else _BARE).fullmatch(self.right):
                return None
            return Fix(span=span, replacement=f"{quote}{self.right}{quote}", is_safe=self.is_safe)
        if _read_basic(span.underlined) == self.wrong and _QUOTABLE.fullmatch(self.right):
            return Fix(span=span, replacement=f'"{self.right}"', is_safe=self.is_safe)
        return None


def guessed(wrong: str, right: str | None, known: Collection[str]) -> Respelling | None:
    """Return the respelling of a name that was guessed by its letters; None if the guess is not certain.

    A wrong guess in a message costs a second, a wrong repair changes what a device does.

    Args:
        wrong: The name that is written.
        right: The nearest of the known names, or None.
        known: The known names.
    """
    return Respelling(wrong, right) if right is not None and is_certain(wrong, right, known) else None


def guessed_fix(wrong: str, right: str | None, known: Collection[str], span: Span | None) -> Fix | None:
    """Return the fix that `guessed` makes at a place, if both exist."""
    respelling = guessed(wrong, right, known)
    return None if respelling is None or span is None else respelling.at(span)


def _read_basic(written: str | None) -> str | None:
    """Return the text of a string in double quotes with escapes that JSON has, too; else None."""
    if written is None or "\\" not in written or not written.startswith('"'):
        return None
    import json

    try:
        text = json.loads(written)
    except ValueError:
        return None
    return text if isinstance(text, str) else None


@record(frozen=True)
class Rewriting:
    """A value that is written, and the text to write in its place, quotes and all.

    Attributes:
        wrong: The value as it is written, without its quotes; None for an array in one line.
        right: The text to write, in which `{}` stands for the value as it is written.
        is_safe: As for `Fix`.
    """

    wrong: str | None
    right: str
    is_safe: bool = False

    def at(self, span: Span) -> Fix | None:
        """Return the fix if the text at `span` is exactly the wrong value, in quotes or not.

        None if the text differs: it has escapes or several lines.
        """
        written = span.underlined or ""
        if self.wrong is None:
            is_right = bool(_PLAIN_ARRAY.fullmatch(written))
        else:
            is_right = written in (self.wrong, f"'{self.wrong}'", f'"{self.wrong}"')
        if not is_right or not self.right.isprintable():
            return None
        return Fix(span=span, replacement=self.right.replace("{}", written), is_safe=self.is_safe)
