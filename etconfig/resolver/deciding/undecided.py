"""Conditions that a device's facts do not decide, so that what depends on them is left out there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from etconfig.diagnostics import Diagnostic, Severity
from etconfig.expression import Expression, Unknown
from etconfig.resolver.deciding.arguments import Arguments

_MAX_SHOWN = 80
"""The longest condition that a message repeats; the place shows the others."""


def undecided_conditions(
    instances: Iterable[Arguments], facts: Mapping[str, object]
) -> tuple[Diagnostic, ...]:
    """Return a note for each condition of the user's own files that needs a fact that is unknown.

    Conditions that decide no option here, or belong to bundled profiles and recommendations, do not count:
    nobody has written them for this device.

    Args:
        instances: The arguments of all method instances.
        facts: The values of the known facts, by name.
    """
    options = {
        id(option): option
        for arguments in instances
        for backend in arguments.backends.values()
        for option in backend.candidates.values()
        if option.candidates
    }
    conditions = {
        id(candidate.condition): candidate.condition
        for option in options.values()
        for candidate in option.effective
        if candidate.condition is not None and not candidate.is_bundled
    }
    notes = (_note(condition, condition.evaluate(facts)) for condition in conditions.values())
    return tuple(dict.fromkeys(note for note in notes if note is not None))


def _note(condition: Expression, result: object) -> Diagnostic | None:
    if not isinstance(result, Unknown):
        return None
    missing = result.missing
    shown = repr(condition.source) if len(condition.source) <= _MAX_SHOWN else "this condition"
    verb = "is" if len(missing) == 1 else "are"
    given = " ".join(f"--fact {name}=VALUE" for name in missing)
    return Diagnostic(
        code="undecided-condition",
        message=f"{shown} is not decided, and counts as false: {' and '.join(missing)} {verb} unknown",
        spans=(condition.span,),
        help=f"give {given}, or write has({missing[0]}) && ... if it may be unknown",
        severity=Severity.NOTE,
    )
