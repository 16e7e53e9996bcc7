"""`waterfall`: everything that might have decided an option on a device, and what each of them did there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from etconfig.base.provenance import Origin, OriginKind
from etconfig.base.records import record
from etconfig.expression import ClauseResult, Expression, Fault, Unknown
from etconfig.resolver.deciding.arguments import BackendArguments
from etconfig.resolver.deciding.option_candidates import OptionCandidates
from etconfig.resolver.explaining.explain import show_setting
from etconfig.schema.declaration import MISSING

StepOutcome: TypeAlias = Literal["wins", "adds keys", "overridden", "does not apply"]


@record(frozen=True, kw_only=True)
class Step:
    """One source of an option's value.

    Attributes:
        outcome: What it did on this device.
        value: The value as text; an expression if it was not computed.
        origin: Where it was written.
        reasons: Each clause of its condition with whether it holds, its expression, and the vendor's reason.
    """

    outcome: StepOutcome
    value: str
    origin: Origin
    reasons: tuple[str, ...] = ()


def waterfall(arguments: BackendArguments, option: str) -> tuple[Step, ...]:
    """Return the sources of an option, lowest first: a later one that applies overrides the earlier ones.

    Raises:
        KeyError: the backend has no such option.
    """
    found = arguments.provenance(option)
    values = {found.winner.origin: found.winner.value, **{each.origin: each.value for each in found.beaten}}
    adding = {*found.keys.values()}
    return tuple(
        _step(source, arguments, values, found.winner.origin, adding)
        for source in _sources(arguments.candidates[option], values)
    )


@record(frozen=True)
class _Source:
    """Something that might decide: its place, and what it would give under which condition."""

    origin: Origin
    condition: Expression | None = None
    value: object = None
    reason: str = ""


def _sources(option: OptionCandidates, deciding: Iterable[Origin]) -> Iterator[_Source]:
    """Yield everything that might decide an option, lowest first."""
    above = [
        *(_Source(each.origin, each.condition, each.value, each.reason) for each in reversed(option.advice)),
        *(_Source(each.origin, each.condition, each.value) for each in option.candidates),
    ]
    known = {each.origin for each in above}
    below = [origin for origin in deciding if origin not in known]
    yield from map(_Source, sorted(below, key=lambda origin: origin.kind is not OriginKind.DEFAULT))
    yield from above


def _step(
    source: _Source,
    arguments: BackendArguments,
    values: Mapping[Origin, object],
    winner: Origin,
    adding: Collection[Origin],
) -> Step:
    value, facts = source.value, arguments.facts
    has_value = source.origin in values or source.origin in adding
    reasons = [] if source.condition is None else [*map(_clause_text, source.condition.explain(facts))]
    if isinstance(value, Expression):
        reasons.append(f"computed as {value.source}")
        value = value.evaluate(facts)
        is_computed = not isinstance(value, (Unknown, Fault))
    else:
        is_computed = True
    applies = has_value or (is_computed and (source.condition is None or source.condition.holds(facts)))
    outcome: StepOutcome = "overridden" if applies else "does not apply"
    if source.origin == winner:
        outcome = "wins"
    elif source.origin in adding:
        outcome = "adds keys"
    shown = values.get(source.origin, value if is_computed else MISSING)
    return Step(
        outcome=outcome,
        value="" if shown is MISSING else show_setting(shown),
        origin=source.origin,
        reasons=(*reasons, *filter(None, (source.reason,))),
    )


def _clause_text(clause: ClauseResult) -> str:
    """Return a clause and whether it holds, without the values of facts, in which devices may differ."""
    if not isinstance(clause.result, bool):
        return f"{clause.text} is unknown"
    return f"{clause.text} {'holds' if clause.result else 'does not hold'}"
