"""`verify_advice`: finds recommendations that the options refuse, or that are never made, on any device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from etconfig.diagnostics import Diagnostic, Severity
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.example_devices import example_devices
from etconfig.expression.proof.example_facts import typical_value
from etconfig.profile.condition_checks import ConditionChecker
from etconfig.resolver.deciding.advice import AdviceReader, CheckedAdvice
from etconfig.resolver.proving.expression_fit import ExpressionVerifier
from etconfig.schema.spec import BackendSpec


def verify_advice(spec: BackendSpec, reader: AdviceReader) -> Iterator[Diagnostic]:
    """Yield the problems of a backend's advice: errors, and as warnings what goes wrong on some devices.

    Args:
        spec: The backend.
        reader: Reads its advice.
    """
    entries, problems = reader.read(spec)
    yield from problems
    conditions = ConditionChecker(reader.registry)
    values = ExpressionVerifier(reader.registry)
    for number, entry in enumerate(entries):
        if entry.condition is not None:
            yield from conditions.problems([entry.condition])
        for problem in values.problems(spec, entry.info, entry.value, entry.condition):
            yield replace(problem, fix=None)  # the text is in code, which is not rewritten
        earlier = [each for each in entries[:number] if each.info is entry.info]
        if any(_hides(each, entry, reader) for each in earlier):
            yield _hidden(spec, entry)


def _hides(earlier: CheckedAdvice, later: CheckedAdvice, reader: AdviceReader) -> bool:
    """Return True if an entry certainly applies wherever a later one does."""
    if earlier.value.facts:
        return False  # they may be unknown
    if earlier.condition is None:
        return True
    nothing = Assumptions.none(reader.registry)
    met = nothing if later.condition is None else nothing.assume(later.condition.tree, True)
    return met is not None and met.implies(earlier.condition.tree)


def _hidden(spec: BackendSpec, entry: CheckedAdvice) -> Diagnostic:
    return Diagnostic(
        code="shadowed-assignment",
        message=f"{spec.id}.{entry.info.name}: an earlier entry applies wherever {entry.value.source!r} does",
        spans=(entry.value.span,),
        help="put the narrower condition first, or remove the entry",
        severity=Severity.WARNING,
    )


def advised_devices(
    entries: Sequence[CheckedAdvice], reader: AdviceReader
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield devices on which different entries apply: where each is, in words, and its known facts.

    There is one for each combination of conditions that some device may meet. Facts that values are computed
    from have typical values.
    """
    conditions = tuple(dict.fromkeys(each.condition for each in entries if each.condition is not None))
    nothing = Assumptions.none(reader.registry)
    computed = {name for each in entries for name in each.value.facts}
    for facts in example_devices(conditions, nothing)[0]:
        typical = ((name, typical_value(name, nothing)) for name in sorted(computed))
        known = {**{name: value for name, value in typical if value is not None}, **facts}
        met = [repr(each.source) for each in conditions if each.evaluate(known) is True]
        yield (
            f"where {' and '.join(met)} {'hold' if len(met) > 1 else 'holds'}" if met else "elsewhere",
            known,
        )
