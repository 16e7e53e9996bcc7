"""`Diagnostic` and its parts."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from etconfig.diagnostics.codes import CODES


class Severity(enum.Enum):
    """How bad it is: an error stops the work, a warning does not, a note informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, kw_only=True)
class Span:
    """A piece of one line of a text.

    Attributes:
        file: Path or name of the text (`ETCONFIG_SET`, `--set`).
        line: 1-based line.
        column: 1-based column of the first character, counted in characters.
        length: Number of characters to underline, at least 1.
        text: The whole line, so that a renderer need not read the file again.
    """

    file: str
    line: int = 1
    column: int = 1
    length: int = 1
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One problem.

    Attributes:
        code: Kebab-case, a key of `CODES`; each has a page under docs/diagnostics.
        message: One sentence that suffices alone: the thing, and what was expected.
        spans: Where; the first is the primary place.
        notes: Further facts, one sentence each.
        help: What to do about it.
        severity: Error unless given.
    """

    code: str
    message: str
    spans: tuple[Span, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"unknown diagnostic code {self.code!r}; add it to diagnostics/codes.py")

    @property
    def is_error(self) -> bool:
        """Whether this problem stops the work."""
        return self.severity is Severity.ERROR

    def __str__(self) -> str:
        if not self.spans:
            return self.message
        span = self.spans[0]
        return f"{span.file}:{span.line}:{span.column}: {self.message}"
