"""`OptionProblem`: what is wrong with an option, before anyone knows where it was written."""

from __future__ import annotations

import enum

from etconfig.diagnostics import Diagnostic, Respelling, Severity, Span
from etconfig.records import record


class ProblemKind(enum.Enum):
    """What is wrong; the member's value is the diagnostic code."""

    UNKNOWN = "unknown-option"
    INVALID = "invalid-value"
    MISSING = "missing-option"
    CONFLICT = "option-conflict"
    DEPRECATED = "deprecated-option"
    NOT_UPDATABLE = "not-updatable"
    FAILING_CHECK = "failing-option-check"

    @property
    def severity(self) -> Severity:
        """A deprecated option still works; all else is an error."""
        return Severity.WARNING if self is ProblemKind.DEPRECATED else Severity.ERROR


@record(frozen=True, kw_only=True)
class OptionProblem:
    """One problem of one backend's options.

    Attributes:
        kind: What is wrong.
        message: One sentence that names the backend and the option.
        option: The option as it was given, or None when the problem lies between several.
        related: Current names of the options that the message of a conflict names.
        help: What to do about it.
        respelling: What to write instead of the option's name or value, where that is one word.
    """

    kind: ProblemKind
    message: str
    option: str | None = None
    related: tuple[str, ...] = ()
    help: str | None = None
    respelling: Respelling | None = None

    @property
    def is_error(self) -> bool:
        """Whether the options cannot be used."""
        return self.kind.severity is Severity.ERROR

    def to_diagnostic(self, *spans: Span) -> Diagnostic:
        """The same as a diagnostic; `spans` say where the option was written."""
        return Diagnostic(
            code=self.kind.value,
            message=self.message,
            spans=spans,
            help=self.help,
            severity=self.kind.severity,
            fix=self.respelling.at(spans[0]) if self.respelling and spans else None,
        )
