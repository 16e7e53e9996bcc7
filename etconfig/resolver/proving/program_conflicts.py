"""Settings that replace what a program fixes ahead of time by another value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from etconfig.base.parameters import plain_value
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.expression import Expression
from etconfig.profile.layer import UNSET
from etconfig.resolver.deciding.device_view import DeviceView
from etconfig.resolver.deciding.option_candidates import Candidate, OptionCandidates


@record(frozen=True)
class FixedOption:
    """An option of a method instance whose value the program fixes, and which something may set.

    Attributes:
        label: The method instance.
        option: The option, with the program's value.
    """

    label: str
    option: OptionCandidates

    @property
    def is_computed(self) -> bool:
        """True if an expression may decide it, so that a conflict depends on the device."""
        return any(isinstance(candidate.value, Expression) for candidate in self.option.effective)


def literal_conflicts(fixed: Iterable[FixedOption]) -> Iterator[Diagnostic]:
    """Yield a warning for each setting with another value than the program's, once for each place and value.

    Settings count also where their condition may not hold; settings of bundled profiles do not, since nobody
    asked for them. Values of expressions are known on a device only, see `computed_conflict`.
    """
    found: set[tuple[int, str]] = set()
    for each in fixed:
        for candidate in each.option.effective:
            key = (id(candidate.place), repr(each.option.program))
            is_asked = not isinstance(candidate.value, Expression) and not candidate.is_bundled
            if is_asked and key not in found and _differs(candidate.value, each.option):
                found.add(key)
                yield _conflict(each, candidate, candidate.value)


def computed_conflict(fixed: FixedOption, device: DeviceView) -> Diagnostic | None:
    """Return a warning if an expression gives an option another value than the program on a device."""
    candidate = fixed.option.deciding_candidate(device)
    if candidate is None or candidate.is_bundled or not isinstance(candidate.value, Expression):
        return None
    value = fixed.option.decide(device, None)
    if isinstance(value, Diagnostic) or not _differs(value, fixed.option):
        return None
    return _conflict(fixed, candidate, value)


def _differs(value: object, option: OptionCandidates) -> bool:
    """Return True if a setting changes what the program fixes; a table changes the keys that it has."""
    assert option.program is not None
    fixed = option.program.value
    if isinstance(value, Mapping) and isinstance(fixed, Mapping):
        return any(key in fixed and fixed[key] != each for key, each in value.items())
    return value is not UNSET and value != fixed


def _conflict(fixed: FixedOption, candidate: Candidate, value: object) -> Diagnostic:
    option, program = fixed.option, fixed.option.program
    assert program is not None
    where = " where its condition holds" if candidate.condition is not None else ""
    return Diagnostic(
        code="program-conflict",
        message=f"{fixed.label}:{option.spec.id}.{option.info.name} = {plain_value(value)!r} replaces "
        f"{plain_value(program.value)!r} of {program.origin}{where}",
        spans=(candidate.span,),
        help="remove the setting, or export the program with this value",
        severity=Severity.WARNING,
    )
