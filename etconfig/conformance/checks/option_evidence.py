"""The check of evidence: every option changes something that can be observed, or the vendor says why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from etconfig.conformance.checks import observation
from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.process.forked_call import apart
from etconfig.conformance.process.forking_worker import CAN_FORK
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.option_choices import options_place, other_values
from etconfig.conformance.subject.subject import Subject
from etconfig.diagnostics import did_you_mean
from etconfig.errors import DelegateError, OptionError
from etconfig.plugin.option_evidence import Observable, Observed, Unobservable

ObservedT = TypeVar("ObservedT")

_REPEATS = 3
_SUGGESTED = (Observable.OUTPUT, Observable.THREADS, Observable.TRACE)
"""The observables to try for an option without evidence: they need no direction and little time."""


@check(
    "option-evidence",
    level=3,
    rests_on=("answers", "effect-visible"),
    prevents="options that are reported, but do nothing",
    since="1.1",
    isolated=True,
    timeout_seconds=180.0,
)
def option_evidence(subject: Subject) -> None:
    """Every option changes the observable that the vendor names for it, or has a reason why none does."""
    infos, evidence = subject.spec.options.option_infos(), subject.evidence
    if not infos:
        raise NotApplicableError(f"{subject.backend_id} has no options")
    problems = [_unknown(subject, name) for name in evidence if name not in infos]
    for name in infos:
        problem = _problem(subject, name)
        if problem is not None:
            problems.append(f"{options_place(subject.spec, name)}: {problem}")
    if problems:
        raise CheckFailedError("\n".join(problems))


def _unknown(subject: Subject, name: str) -> str:
    known = list(subject.spec.options.option_infos())
    guess = did_you_mean(name, known) or f"the options are {', '.join(known)}"
    return f"evidence of {subject.backend_id} names {name!r}, which is not an option; {guess}"


def _problem(subject: Subject, name: str) -> str | None:
    """Return why there is no evidence that an option has an effect, or None."""
    evidence = subject.evidence.get(name)
    if evidence is None:
        return f"nothing shows its effect; {_lines_to_write(subject, name)}"
    if isinstance(evidence, Unobservable):
        return None
    try:
        return _difference_missing(subject, name, evidence)
    except (CheckFailedError, NotApplicableError) as error:
        return f"its {evidence.kind.value} cannot be observed: {error}"
    except (OptionError, DelegateError) as error:
        return f"its {evidence.kind.value} cannot be observed: {observation.refused(error)}"


def _lines_to_write(subject: Subject, name: str) -> str:
    shown = next(_seen(subject, name), None)
    line = f'"{name}": Observed("{shown.value}")' if shown else f'"{name}": Observed("time", ...)'
    known = ", ".join(each.value for each in Observable)
    seen = (
        f"a change of its {shown.value} was seen"
        if shown
        else f"no change of {', '.join(each.value for each in _SUGGESTED)} was seen"
    )
    return (
        f"{seen}: write evidence={{{line}}} in the ConformanceContribution, with one of {known}, or "
        f'"{name}": Unobservable("why nothing shows it")'
    )


def _seen(subject: Subject, name: str) -> Iterator[Observable]:
    """Yield the observables that change with an option, as far as the kit can try by itself."""
    for each in _SUGGESTED:
        try:
            if _difference_missing(subject, name, Observed(each)) is None:
                yield each
        except (CheckFailedError, NotApplicableError, OptionError, DelegateError):
            continue


def _difference_missing(subject: Subject, name: str, evidence: Observed) -> str | None:
    """Return None if some case shows the difference that the vendor declares, else what was seen."""
    first, second = _options(subject, name, evidence)
    seen = "nothing was run"
    for case in _cases(subject, evidence):
        compare = _COMPARISONS.get(evidence.kind, _compare_numbers)
        problem = compare(subject, case, evidence, (first, second))
        if problem is None:
            return None
        seen = f"{case.name}: {problem}"
    usual = repr(first[name]) if name in first else "the usual value"
    return (
        f"no change of its {evidence.kind.value} as declared between {usual} and {second[name]!r} ({seen}); "
        "use the option, remove it, or declare where its effect can be seen"
    )


def _cases(subject: Subject, evidence: Observed) -> Iterator[DelegatedCase]:
    if evidence.case is not None:
        yield subject.case_for_evidence(evidence.case)
    elif evidence.kind is Observable.TIME:
        yield subject.simplest
    else:
        yield from subject.ordinary_cases()


def _options(
    subject: Subject, name: str, evidence: Observed
) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """Return the options of both loads."""
    if evidence.values is not None:
        first, second = evidence.values
        return {**evidence.beside, name: first}, {**evidence.beside, name: second}
    spec = subject.spec
    usual = _observing(subject, lambda: _usual(subject, name))
    others = other_values(spec, spec.options.option_infos()[name], usual)
    if not others:
        raise CheckFailedError(f"the kit knows no value of it besides {usual!r}; declare values=(A, B)")
    return dict(evidence.beside), {**evidence.beside, name: others[0]}


def _usual(subject: Subject, name: str) -> object:
    with subject.load(subject.simplest) as method:
        return getattr(method.options(subject.backend_id), name)


def _observing(subject: Subject, observe: Callable[[], ObservedT]) -> ObservedT:
    """Observe here, or in a child if another runtime may keep settings for the whole process."""
    return apart(observe) if subject.is_native and CAN_FORK else observe()


def _compare_exactly(
    subject: Subject,
    case: DelegatedCase,
    evidence: Observed,
    options: tuple[Mapping[str, object], Mapping[str, object]],
) -> str | None:
    observe = observation.EXACT.get(evidence.kind) or observation.FileWatch().files_of
    # the first load may do what a process needs once
    _, first, second, again = (
        _observing(subject, partial(observe, subject, case, options[at])) for at in (0, 0, 1, 0)
    )
    if first != again:
        return "it changes from one load to the next even with the same value"
    return "it is the same" if first == second else None


def _compare_numbers(
    subject: Subject,
    case: DelegatedCase,
    evidence: Observed,
    options: tuple[Mapping[str, object], Mapping[str, object]],
) -> str | None:
    observe = observation.COUNTED[evidence.kind]
    # the first load may do what a process needs once
    _, *pairs = [
        [_observing(subject, partial(observe, subject, case, each)) for each in options]
        for _ in range(_REPEATS + 1)
    ]
    firsts, seconds = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    change = observation.gap(firsts, seconds)
    is_right = {"more": change > 0, "less": change < 0, "other": change != 0}[evidence.expect]
    if is_right and abs(change) >= observation.MARGINS[evidence.kind](subject):
        return None
    return f"{max(firsts):g} and {max(seconds):g}, expected {evidence.expect}"


def _compare_times(
    subject: Subject,
    case: DelegatedCase,
    evidence: Observed,
    options: tuple[Mapping[str, object], Mapping[str, object]],
) -> str | None:
    with (
        observation.Timed(subject, case, options[0]) as first,
        observation.Timed(subject, case, options[1]) as second,
    ):
        slow, fast = (second, first) if evidence.expect == "more" else (first, second)
        if observation.is_faster(slow.run, fast.run):
            return None
        return f"{first.run() * 1e6:.0f} and {second.run() * 1e6:.0f} µs, expected {evidence.expect}"


_COMPARISONS = {
    Observable.OUTPUT: _compare_exactly,
    Observable.TRACE: _compare_exactly,
    Observable.FILES: _compare_exactly,
    Observable.TIME: _compare_times,
}
"""The comparison of each observable; the others are numbers."""
