"""`waterfall`: everything that might have decided an option on a device, and what each of them did there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from etconfig.base.provenance import Origin, OriginKind
from etconfig.base.records import record
from etconfig.expression import Expression, Fault, Unknown
from etconfig.resolver.deciding.arguments import BackendArguments
from etconfig.resolver.deciding.option_candidates import OptionCandidates
from etconfig.resolver.explaining.explain import show_setting
from etconfig.schema.declaration import MISSING

SourceOutcome: TypeAlias = Literal["wins", "adds keys", "overridden", "does not apply"]


@record(frozen=True, kw_only=True)
class ValueSource:
    """One source of an option's value.

    Attributes:
        outcome: What it did on this device.
        value: The value as text; empty if it was not computed.
        origin: Where it was written.
        clauses: The clauses of its condition, each with whether it holds.
        expression: The expression that computes the value; None if it is written there.
        reason: The vendor's reason; empty if there is none.
    """

    outcome: SourceOutcome
    value: str
    origin: Origin
    clauses: tuple[tuple[str, bool], ...] = ()
    expression: Expression | None = None
    reason: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Why it did so, in words."""
        clauses = (f"{text} {'holds' if holds else 'does not hold'}" for text, holds in self.clauses)
        computed = () if self.expression is None else (f"computed as {self.expression}",)
        return (*clauses, *computed, *filter(None, (self.reason,)))


def waterfall(arguments: BackendArguments, option: str) -> tuple[ValueSource, ...]:
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
class _Contender:
    """Something that might decide: its place, and what it would give under which condition."""

    origin: Origin
    condition: Expression | None = None
    value: object = None
    reason: str = ""


def _sources(option: OptionCandidates, deciding: Iterable[Origin]) -> Iterator[_Contender]:
    """Yield everything that might decide an option, lowest first."""
    deciding = list(deciding)
    advice = [_Contender(each.origin, each.condition, each.value, each.reason) for each in option.advice]
    first = next((at for at, each in enumerate(advice) if each.origin in deciding), len(advice))
    advice = advice[first::-1] if first < len(advice) else advice[::-1]  # nothing asks those after it
    above = [*advice, *(_Contender(each.origin, each.condition, each.value) for each in option.candidates)]
    known = {each.origin for each in above}
    below = [origin for origin in deciding if origin not in known]
    yield from map(_Contender, sorted(below, key=lambda origin: origin.kind is not OriginKind.DEFAULT))
    yield from above


def _step(
    source: _Contender,
    arguments: BackendArguments,
    values: Mapping[Origin, object],
    winner: Origin,
    adding: Collection[Origin],
) -> ValueSource:
    expression = source.value if isinstance(source.value, Expression) else None
    value = source.value if expression is None else expression.evaluate(arguments.facts)
    if isinstance(value, (Unknown, Fault)):
        value = MISSING
    clauses = () if source.condition is None else source.condition.explain(arguments.facts)
    outcome: SourceOutcome = "does not apply"
    if source.origin == winner:
        outcome = "wins"
    elif source.origin in adding:
        outcome = "adds keys"
    elif source.origin in values:
        outcome = "overridden"
    shown = values.get(source.origin, value)
    return ValueSource(
        outcome=outcome,
        value="" if shown is MISSING else show_setting(shown),
        origin=source.origin,
        clauses=tuple((each.text, each.result is True) for each in clauses),
        expression=expression,
        reason=source.reason,
    )
