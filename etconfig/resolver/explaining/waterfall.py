"""`waterfall`: everything that might have decided an option on a device, and what each of them did there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from etconfig.base.provenance import Origin, OriginKind
from etconfig.base.records import record
from etconfig.expression import ClauseResult, Expression, Fault, Unknown
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
        clauses: The clauses of its condition, and those of its expression that have no value.
        expression: The expression that computes the value; None if it is written there.
        reason: The vendor's reason; empty if there is none.
    """

    outcome: SourceOutcome
    value: str
    origin: Origin
    clauses: tuple[ClauseResult, ...] = ()
    expression: Expression | None = None
    reason: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Why it did so, in words."""
        computed = () if self.expression is None else (f"computed as {self.expression}",)
        return (*(each.verdict for each in self.clauses), *computed, *filter(None, (self.reason,)))


def waterfall(arguments: BackendArguments, option: str) -> tuple[ValueSource, ...]:
    """Return the sources of an option, lowest first: a later one that applies overrides the earlier ones.

    Raises:
        KeyError: the backend has no such option.
    """
    found = arguments.provenance(option)
    values = {each.origin: each.value for each in (found.winner, *found.beaten)}
    sources = []
    for origin, condition, written, reason in _sources(arguments.candidates[option], values):
        expression = written if isinstance(written, Expression) else None
        computed = written if expression is None else expression.evaluate(arguments.facts)
        value = values.get(origin, MISSING if isinstance(computed, (Unknown, Fault)) else computed)
        clauses = () if condition is None else condition.explain(arguments.facts)
        if expression is not None and all(each.result is True for each in clauses):
            parts = expression.explain(arguments.facts)
            clauses += tuple(each for each in parts if isinstance(each.result, (Unknown, Fault)))
        outcome: SourceOutcome = "overridden" if origin in values else "does not apply"
        if origin == found.winner.origin or origin in found.keys.values():
            outcome = "wins" if origin == found.winner.origin else "adds keys"
        sources.append(
            ValueSource(
                outcome=outcome,
                value="" if value is MISSING else show_setting(value),
                origin=origin,
                clauses=clauses,
                expression=expression,
                reason=reason,
            )
        )
    return tuple(sources)


def _sources(
    option: OptionCandidates, values: Mapping[Origin, object]
) -> Iterator[tuple[Origin, Expression | None, object, str]]:
    """Yield everything that may decide an option, lowest first: origin, condition, value, vendor's reason."""
    advice = [(each.origin, each.condition, each.value, each.reason) for each in option.advice]
    deciding = next((at for at, (origin, *_) in enumerate(advice) if origin in values), len(advice))
    layers = [(each.origin, each.condition, each.value, "") for each in option.candidates]
    known = {origin for origin, *_ in (*advice, *layers)}
    below = (origin for origin in values if origin not in known)
    for origin in sorted(below, key=lambda origin: origin.kind is not OriginKind.DEFAULT):
        yield origin, None, None, ""
    yield from reversed(advice[: deciding + 1])  # nothing asks those after it
    yield from layers
