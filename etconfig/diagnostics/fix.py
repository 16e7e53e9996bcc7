"""`Fix`: a change that repairs what a diagnostic is about."""

from __future__ import annotations

import re

from etconfig.diagnostics.span import Span
from etconfig.records import record

_BARE = re.compile(r"[\w.+-]+", re.ASCII)
_QUOTABLE = re.compile(r"""[^"'\\\x00-\x1f\x7f]*""")


@record(frozen=True, kw_only=True)
class Fix:
    """A change of the text that a tool can make.

    Attributes:
        span: What to replace, all of it in one line.
        replacement: What to write there.
        is_safe: The text means the same as before, and is only spelled as it should be. A change
            that rests on a guess at what was meant is not safe.
    """

    span: Span
    replacement: str
    is_safe: bool = False


@record(frozen=True)
class Respelling:
    """What is written, and what should be written in its place.

    Attributes:
        wrong: The word that is written.
        right: The word to write.
        is_safe: As for `Fix`.
    """

    wrong: str
    right: str
    is_safe: bool = False

    def at(self, span: Span) -> Fix | None:
        """The fix, if the wrong word and nothing else stands at `span`; quotes around it are kept.

        None if it does not stand there as it is (with escapes, over several lines, or as a part of more),
        or if the right word would need other quotes or escapes.
        """
        for quote in ("", "'", '"'):
            if span.underlined != f"{quote}{self.wrong}{quote}":
                continue
            if not (_QUOTABLE if quote else _BARE).fullmatch(self.right):
                return None
            return Fix(span=span, replacement=f"{quote}{self.right}{quote}", is_safe=self.is_safe)
        return None
