"""Checks of options of methods that are loaded together: each keeps its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcome import CheckFailedError, NotApplicableError, suggesting
from etconfig.conformance.subject.option_values import effective_values, options_place, other_values
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import DelegateError, OptionError
from etconfig.method.method import Method
from etconfig.schema.declaration import Applies, OptionInfo, Scope
from etconfig.schema.spec import BackendSpec

_APART = "keep the options in the handle that init returns, or read them from the context"


@check(
    "option-leak",
    level=2,
    rests_on=("answers", "effect-visible"),
    prevents="options of one instance that apply to all",
)
def option_leak(subject: Subject) -> None:
    """Two instances with different options keep their own while both are loaded and run."""
    case, spec = subject.simplest, subject.spec
    seen = False
    with subject.load(case, instance="usual") as usual:
        own = effective_values(subject, usual)
        for info, value in _other_options(spec, usual.options(spec.id)):
            try:
                other = subject.load(case, options={info.name: value}, instance="other")
            except (OptionError, DelegateError):
                continue  # refused with these other options or on this device
            with other:
                theirs = effective_values(subject, other)
                other.execute(case.inputs())
                event = f"an instance with {info.name}={value!r} was loaded"
                _require_same(subject, usual, own, event)
                with suggesting(_APART, where=f"{options_place(spec, info.name)}: after {event}"):
                    subject.check_runs(usual, case)
                _require_same(subject, other, theirs, f"an instance with {info.name} as usual was executed")
            seen = seen or info.name in own
    if not seen:
        raise NotApplicableError(
            f"{spec.id} reports no option in effective_options that has other known values"
        )


@check(
    "execute-update",
    level=2,
    rests_on=("answers", "effect-visible", "scope-enforced"),
    prevents="changes that affect other methods",
)
def execute_update(subject: Subject) -> None:
    """A changed option applies to its method only, until it is changed back."""
    case, spec = subject.simplest, subject.spec
    seen = False
    with subject.load(case) as target, subject.load(case) as other:
        before, theirs = effective_values(subject, target), effective_values(subject, other)
        usual = target.options(spec.id)
        for info, value in _other_options(spec, usual):
            if info.applies is not Applies.EXECUTE or info.name not in before:
                continue
            path = f"{spec.id}.{info.name}"
            try:
                target.update({path: value})
            except OptionError:
                continue  # refused with these other options
            seen = True
            if effective_values(subject, target).get(info.name) == before[info.name]:
                raise CheckFailedError(
                    f"{options_place(spec, info.name)}: effective_options still reports "
                    f"{before[info.name]!r} after an update to {value!r}; apply the change in update"
                )
            event = f"{info.name} of another method was changed to {value!r}"
            with suggesting(_APART, where=f"{options_place(spec, info.name)}: after {event}"):
                subject.check_runs(other, case)
            _require_same(subject, other, theirs, event)
            target.update({path: getattr(usual, info.name)})
            _require_same(subject, target, before, f"{info.name} was changed to {value!r} and back")
            subject.check_runs(target, case)
    if not seen:
        raise NotApplicableError(f"{spec.id} reports no option that applies at execute and could be changed")


def _other_options(spec: BackendSpec, usual: Any) -> Iterator[tuple[OptionInfo, object]]:
    """Yield each option that may differ between methods with another value, if one is known."""
    for name, info in spec.options.option_infos().items():
        if info.scope is Scope.METHOD:
            for value in other_values(spec, info, getattr(usual, name))[:1]:
                yield info, value


def _require_same(subject: Subject, method: Method, before: Mapping[str, object], event: str) -> None:
    for name, value in effective_values(subject, method).items():
        if value != before.get(name):
            raise CheckFailedError(
                f"{options_place(subject.spec, name)}: effective_options reported {before.get(name)!r}, but "
                f"{value!r} after {event}; {_APART}"
            )


CHECKS = (option_leak, execute_update)
"""The checks of this module, in the order of the report."""
