"""`Diagnostic` and its parts."""

from __future__ import annotations

import enum

from etconfig.diagnostics.codes import CODES
from etconfig.diagnostics.fix import Fix
from etconfig.diagnostics.span import Span
from etconfig.records import record


class Severity(enum.Enum):
    """How bad it is: an error stops the work, a warning does not, a note informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@record(frozen=True, kw_only=True)
class Diagnostic:
    """One problem.

    Attributes:
        code: Kebab-case, a key of `CODES`; each has a page under docs/diagnostics.
        message: One sentence that suffices alone: the thing, and what was expected.
        spans: Where; the first is the primary place.
        notes: Further facts, one sentence each.
        help: What to do about it.
        severity: Error unless given.
        fix: What to write instead, where that is one word.
    """

    code: str
    message: str
    spans: tuple[Span, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: Severity = Severity.ERROR
    fix: Fix | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"unknown diagnostic code {self.code!r}; add it to diagnostics/codes.py")

    @property
    def is_error(self) -> bool:
        """Whether this problem stops the work."""
        return self.severity is Severity.ERROR

    @property
    def full_text(self) -> str:
        """The message, the notes and the help, a line each."""
        return "\n".join(line for line in (self.message, *self.notes, self.help) if line)

    def __str__(self) -> str:
        if not self.spans:
            return self.message
        return f"{self.spans[0].place}: {self.message}"
