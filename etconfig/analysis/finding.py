"""`Finding`: the result of one check of an installation."""

from __future__ import annotations

from typing import Literal, TypeAlias

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic

FindingStatus: TypeAlias = Literal["ok", "warning", "error"]
"""`warning`: something is not available. `error`: something is broken."""


@record(frozen=True)
class Finding:
    """The result of one check of an installation.

    Attributes:
        subject: What was checked, such as `profiles` or `backend ReferenceNpuBackend`.
        status: `ok`, `warning` (something is not available) or `error` (something is broken).
        detail: What was found.
        help: What to do about it, or None.
    """

    subject: str
    status: FindingStatus
    detail: str
    help: str | None = None


def finding_of(subject: str, problem: Diagnostic) -> Finding:
    """Return a diagnostic as a finding; a note counts as a warning."""
    return Finding(subject, "error" if problem.is_error else "warning", str(problem), problem.help)
