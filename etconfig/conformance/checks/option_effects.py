"""Checks of options of a loaded method: each takes effect when declared, and its value can be read."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.base.plain_data import jsonable
from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcome import CheckFailedError, NotApplicableError
from etconfig.conformance.subject.option_values import (
    effective_values,
    options_place,
    other_values,
    unreported,
)
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import DelegateError, OptionError
from etconfig.method.method import Method
from etconfig.schema.declaration import Applies

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


CHECKS = (effect_visible, scope_enforced)
"""The checks of this module, in the order of the report."""
