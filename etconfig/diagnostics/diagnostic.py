"""`Diagnostic` and its parts."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from etconfig.base.records import record
from etconfig.diagnostics.codes import CODES
from etconfig.diagnostics.fix import Fix
from etconfig.diagnostics.span import Span

_MAX_DEVICES = 100
"""The most devices of a problem that are named in a text."""
_MAX_OTHERS = 20
"""The most messages of other devices that are shown."""


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
        devices: The devices that have it, if some of several do.
        subject: The thing that has it, where `spans` do not say that.
    """

    code: str
    message: str
    spans: tuple[Span, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: Severity = Severity.ERROR
    fix: Fix | None = None
    devices: tuple[str, ...] = ()
    subject: str = ""

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
        return "\n".join(line for line in (self.message, *self.all_notes, self.help) if line)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, and the devices if some of several have the problem."""
        return (*self.notes, f"on {_listed(self.devices)}") if self.devices else self.notes

    def __str__(self) -> str:
        if not self.spans:
            return self.message
        return f"{self.spans[0].place}: {self.message}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MAX_DEVICES
    return ", ".join(names[:_MAX_DEVICES]) + (f" and {more:,} more" if more > 0 else "")


def on_devices(
    found: Mapping[Diagnostic, Collection[str]], count: int, everywhere: str | None = None
) -> list[Diagnostic]:
    """Return problems with the devices that have them.

    One that has other values on other devices is one problem: the first message stays, others become notes.

    Args:
        found: The devices of each problem.
        count: The number of all devices.
        everywhere: A note for a problem that all of several devices have; such a problem names none.
    """
    joined: dict[object, tuple[list[Diagnostic], set[str]]] = {}
    for problem, devices in found.items():
        same = problem.code, problem.severity, problem.spans, problem.subject
        problems, having = joined.setdefault(same, ([], set()))
        if having.isdisjoint(devices):  # else it is another problem of the same devices
            problems.append(problem)
            having.update(devices)
        else:
            joined[problem] = ([problem], {*devices})
    return [_joined(problems, found, count, everywhere) for problems, _ in joined.values()]


def _joined(
    problems: Sequence[Diagnostic],
    found: Mapping[Diagnostic, Collection[str]],
    count: int,
    everywhere: str | None,
) -> Diagnostic:
    first, *others = problems
    if not others and len(found[first]) == count:
        return replace(first, notes=(*first.notes, everywhere)) if everywhere and count > 1 else first
    notes = [f"on {_listed([*found[each]])}: {each.message}" for each in others[:_MAX_OTHERS]]
    more = len(others) - len(notes)
    notes += [f"{more:,} more devices have other values"] if more > 0 else []
    devices = tuple(name for each in problems for name in found[each])
    return replace(first, notes=(*first.notes, *notes), devices=devices)
