"""Checks of options of loaded methods: each takes effect, can be read, and affects no other method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from etconfig.base.plain_data import jsonable
from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, suggesting
from etconfig.conformance.subject.option_choices import (
    effective_values,
    options_place,
    other_values,
    unreported,
)
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import DelegateError, OptionError
from etconfig.method.method import Method
from etconfig.schema.declaration import Applies, OptionInfo, Scope
from etconfig.schema.spec import BackendSpec

VALUES_TRIED = 2
"""The number of other values that are tried of an option."""


@check("effect-visible", level=1, rests_on=("runs",), prevents="silently ignored options")
def effect_visible(subject: Subject) -> None:
    """`effective_options` reports every option, or why it is unknown, and follows its value."""
    case, spec = subject.simplest, subject.spec
    with subject.load(case) as method:
        usual = dict(method.options(spec.id))
        effective = effective_values(subject, method)
        missing = unreported(subject, method, usual)
    if not usual:
        raise NotApplicableError(f"{spec.id} has no options")
    if missing and not subject.is_native:  # other runtimes need not report them
        raise CheckFailedError(
            f"{options_place(spec)}: effective_options does not report {', '.join(missing)}, only "
            f"{', '.join(effective) or 'nothing'}; report the values in force"
        )
    reported = [name for name in spec.options.option_infos() if name in effective]
    compared = [_follows_its_value(subject, name, usual[name], effective[name]) for name in reported]
    if not any(compared):
        raise NotApplicableError(f"{spec.id} reports no option that accepts another value here")


def _follows_its_value(subject: Subject, name: str, usual: object, effective: object) -> bool:
    """Return whether another value of the option was loaded; fail if all are reported as the same one."""
    spec, seen = subject.spec, [effective]
    tried = other_values(spec, spec.options.option_infos()[name], usual)[:VALUES_TRIED]
    refused, as_given = False, True
    for value in tried:
        try:
            with subject.load(subject.simplest, options={name: value}) as method:
                values = effective_values(subject, method)
                lost = unreported(subject, method, [name])
        except (OptionError, DelegateError):
            refused = True
            continue  # refused with these other options or on this device, so not ignored
        if name in values:
            seen.append(values[name])
            as_given = as_given and jsonable(values[name]) == jsonable(value)
        elif lost and not subject.is_native:  # other runtimes may omit values that they were given
            raise CheckFailedError(
                f"{options_place(spec, name)} is not reported by effective_options for {value!r}; "
                "report the value in force"
            )
    # a device with one possible value takes that one, and refuses the others
    has_one_value = refused and as_given
    if len(seen) > 1 and all(each == seen[0] for each in seen) and not has_one_value:
        given = ", ".join(map(repr, (usual, *tried)))
        raise CheckFailedError(
            f"{options_place(spec, name)}: effective_options reports {seen[0]!r} for each of the values "
            f"{given}; use the option, or refuse values that have no effect"
        )
    return len(seen) > 1


@check(
    "scope-enforced",
    level=1,
    rests_on=("effect-visible",),
    prevents="changes that are refused too late, or that affect other options",
)
def scope_enforced(subject: Subject) -> None:
    """A loaded method accepts new values of all options that apply at execute, and no others change."""
    case, spec = subject.simplest, subject.spec
    infos = [info for info in spec.options.option_infos().values() if info.applies is Applies.EXECUTE]
    with subject.load(case) as method:
        usual = dict(method.options(spec.id))
        changes = [
            (info.name, value)
            for info in infos
            for value in other_values(spec, info, usual[info.name])[:VALUES_TRIED]
        ]
        if not changes:
            raise NotApplicableError(
                f"{spec.id} has no option that applies at execute and has other known values"
            )
        has_changed = False
        for name, value in changes:
            before = effective_values(subject, method)
            if _change(subject, method, name, value):
                has_changed = True
                _require_unchanged(subject, before, effective_values(subject, method), name)
    if not has_changed:
        raise NotApplicableError(f"{spec.id} refuses every value that the kit tries, given its other options")


def _change(subject: Subject, method: Method, name: str, value: object) -> bool:
    """Change an option; return False if the validator of the options refuses the combination."""
    try:
        method.update({f"{subject.backend_id}.{name}": value})
    except OptionError:
        return False
    except DelegateError as error:
        raise CheckFailedError(
            f"{options_place(subject.spec, name)} applies at execute, but update refuses {value!r}: "
            f"{error.cause}; accept the value, or declare applies='load'"
        ) from None
    return True


def _require_unchanged(
    subject: Subject, before: Mapping[str, object], after: Mapping[str, object], changed: str
) -> None:
    for name, value in before.items():
        if name != changed and after.get(name) != value:
            raise CheckFailedError(
                f"{options_place(subject.spec, name)} was {value!r} and is {after.get(name)!r} after a "
                f"change of {changed}, expected no change; apply only what changed in update"
            )


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
