"""`Diagnostic` and its parts."""

from __future__ import annotations

import enum

from etconfig.base.records import record
from etconfig.diagnostics.codes import CODES
from etconfig.diagnostics.fix import Fix
from etconfig.diagnostics.span import Span


class Severity(enum.Enum):
    """The severity of a problem: an error stops the work, a warning does not, a note informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@record(frozen=True, kw_only=True)
class Diagnostic:
    """One problem.

    Attributes:
        code: Kebab-case, a key of `CODES`; each has a page under docs/diagnostics.
        message: One sentence that is enough by itself: it names the thing and what was expected.
        spans: The places; the first one is the primary place.
        notes: Further facts, one sentence each.
        help: An instruction that solves the problem, or None.
        severity: How bad the problem is; an error by default.
        fix: A change of the text that solves the problem, if there is one.
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
        """True if this problem stops the work."""
        return self.severity is Severity.ERROR

    @property
    def full_text(self) -> str:
        """The message, the notes and the help, one per line."""
        return "\n".join(line for line in (self.message, *self.notes, self.help) if line)

    def __str__(self) -> str:
        if not self.spans:
            return self.message
        return f"{self.spans[0].place}: {self.message}"
