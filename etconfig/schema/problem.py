"""`OptionProblem`: a problem with an option, before its place in a file is known."""

from __future__ import annotations

import enum
from dataclasses import replace

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Respelling, Rewriting, Severity, Span


class ProblemKind(enum.Enum):
    """The kind of a problem; the member's value is the diagnostic code."""

    UNKNOWN = "unknown-option"
    INVALID = "invalid-value"
    MISSING = "missing-option"
    CONFLICT = "option-conflict"
    DEPRECATED = "deprecated-option"
    NOT_UPDATABLE = "not-updatable"
    FAILING_CHECK = "failing-option-check"

    @property
    def severity(self) -> Severity:
        """The severity: a deprecated option still works, everything else is an error."""
        return Severity.WARNING if self is ProblemKind.DEPRECATED else Severity.ERROR


@record(frozen=True, kw_only=True)
class OptionProblem:
    """One problem with the options of one backend.

    Attributes:
        kind: The kind of problem.
        message: A sentence that names the backend and the option.
        option: The option's name as written, or None if the problem concerns several options.
        related: The current names of the options that the message of a conflict mentions.
        help: What to do about it.
        respelling: The replacement for the option's name or value, if there is one.
        path: The place of the problem inside an array or table, such as `(2,)`; empty for the whole value.
        is_key: True if the last key of the path is wrong, rather than its value.
        further: The other problems of the same value.
    """

    kind: ProblemKind
    message: str
    option: str | None = None
    related: tuple[str, ...] = ()
    help: str | None = None
    respelling: Respelling | Rewriting | None = None
    path: tuple[str | int, ...] = ()
    is_key: bool = False
    further: tuple[OptionProblem, ...] = ()

    @property
    def each(self) -> tuple[OptionProblem, ...]:
        """This problem and the further ones, each by itself."""
        return (replace(self, further=()), *self.further) if self.further else (self,)

    @property
    def is_error(self) -> bool:
        """True if the options cannot be used."""
        return self.kind.severity is Severity.ERROR

    def to_diagnostic(self, *spans: Span) -> Diagnostic:
        """Return the problem as a diagnostic; `spans` are the places of the option."""
        return Diagnostic(
            code=self.kind.value,
            message=self.message,
            spans=spans,
            help=self.help,
            severity=self.kind.severity,
            fix=self.respelling.at(spans[0]) if self.respelling and spans else None,
        )
