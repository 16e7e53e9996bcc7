"""`OptionChain`: all that may decide one option of one method instance, in merge order.

The merge rule, written once: the last candidate whose condition holds wins; scalars and
arrays replace, tables merge key by key; `unset` forgets what configuration said, so that the
recommendation or the schema's default holds again. The alternative, merging whole documents
first, was rejected: it loses where a value came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from etconfig.diagnostics import Diagnostic, Span
from etconfig.profile import UNSET, Expression, Fault, Findable, Unknown
from etconfig.provenance import Origin, OriginKind, Sourced
from etconfig.records import record
from etconfig.resolver.device import DeviceView
from etconfig.schema import MISSING, BackendSpec, OptionInfo, OptionProblem, check_value, jsonable

_BASELINE = (OriginKind.DEFAULT, OriginKind.RECOMMENDATION)
"""What `unset` leaves standing."""


@record(frozen=True, kw_only=True)
class Candidate:
    """One assignment as one option sees it.

    Attributes:
        value: A value of the option's type, an expression that gives one, or `UNSET`.
        place: Where it was written.
        condition: The condition it depends on, or None.
    """

    value: object
    place: Findable
    condition: Expression | None = None

    @property
    def origin(self) -> Origin:
        """Where it was written."""
        return self.place.find().origin

    @property
    def span(self) -> Span:
        """The same, for diagnostics."""
        return self.place.find().span


@record(frozen=True, kw_only=True)
class Story:
    """Where one value came from.

    Attributes:
        winner: The value and its origin.
        beaten: What it beat, the strongest first; `UNSET` stands among them where it was written.
        facts: The facts that this depends on, those of conditions that do not hold included.
    """

    winner: Sourced[object]
    beaten: tuple[Sourced[object], ...] = ()
    facts: tuple[str, ...] = ()

    def to_jsonable(self) -> dict[str, Any]:
        """The story as plain data."""
        return {
            **_sourced_data(self.winner),
            "beat": [_sourced_data(beaten) for beaten in self.beaten],
            "facts": list(self.facts),
        }


@record(frozen=True, kw_only=True)
class OptionChain:
    """All that may decide one option of one method instance.

    Attributes:
        spec: The backend.
        info: The option.
        candidates: In merge order, lowest first; recommendation and default lie below them.
    """

    spec: BackendSpec
    info: OptionInfo
    candidates: tuple[Candidate, ...] = ()

    @property
    def fixed_value(self) -> object:
        """What the option is while no condition holds, if the last candidate that holds simply is its value.

        The same as `decide` gives without a recommendation, but cheap to evaluate. `MISSING` where more is
        to be done: values merge, are unset, or are computed.
        """
        for candidate in reversed(self.candidates):
            if candidate.value is UNSET or isinstance(candidate.value, (dict, Expression)):
                return MISSING
            if candidate.condition is None:
                return candidate.value
        return MISSING if self.info.from_fact is not None else self.info.default

    @property
    def conditions(self) -> Sequence[Expression]:
        """The conditions of its candidates."""
        return [c.condition for c in self.candidates if c.condition is not None]

    @cached_property
    def computed_from(self) -> frozenset[str]:
        """The facts that values are computed from; those of conditions apart."""
        named = frozenset([self.info.from_fact]) if self.info.from_fact else frozenset()
        expressions = (c.value for c in self.candidates if isinstance(c.value, Expression))
        return named.union(*(expression.facts for expression in expressions))

    @cached_property
    def facts(self) -> frozenset[str]:
        """Every fact that may have a say, those of conditions that do not hold included."""
        return self.computed_from.union(*(condition.facts for condition in self.conditions))

    def decide(
        self, device: DeviceView, recommended: Sourced[object] | None
    ) -> Sourced[object] | Diagnostic | None:
        """The value on a device, why there can be none, or None when nothing sets the option.

        Args:
            device: The device.
            recommended: The vendor's advice for this option, if there is any.
        """
        return _winner(self._contenders(device, recommended))

    def story(self, device: DeviceView, recommended: Sourced[object] | None) -> Story:
        """Where the value that `decide` gives comes from.

        Raises:
            LookupError: `decide` gives no value.
        """
        contenders = tuple(self._contenders(device, recommended))
        winner = _winner(contenders)
        if winner is None or isinstance(winner, Diagnostic):
            raise LookupError(f"{self.spec.id}.{self.info.name} has no value")
        beaten = (c for c in contenders if isinstance(c, Sourced) and c.origin is not winner.origin)
        return Story(winner=winner, beaten=tuple(beaten), facts=tuple(sorted(self.facts)))

    def winning_span(self, device: DeviceView, recommended: Sourced[object] | None) -> Span | None:
        """Where the value that `decide` gives was written, if it was written in a text."""
        winner = self.decide(device, recommended)
        spans = (c.span for c in self.candidates if isinstance(winner, Sourced) and c.origin is winner.origin)
        return next(spans, None)

    def _contenders(
        self, device: DeviceView, recommended: Sourced[object] | None
    ) -> Iterator[Sourced[object] | Diagnostic]:
        """What may win, the strongest first; each is computed only when it is reached."""
        for candidate in reversed(self.candidates):
            if candidate.condition is None or device.meets(candidate.condition):
                yield self._evaluate(candidate, device)
        if recommended is not None:
            yield recommended
        default = self._default(device)
        if default is not None:
            yield default

    def _evaluate(self, candidate: Candidate, device: DeviceView) -> Sourced[object] | Diagnostic:
        if not isinstance(candidate.value, Expression):
            return Sourced(candidate.value, candidate.origin)
        result = candidate.value.evaluate(device.values)
        if isinstance(result, (Unknown, Fault)):
            return candidate.value.failure(result)
        value = check_value(self.spec, self.info, result)
        if isinstance(value, OptionProblem):
            return value.to_diagnostic(candidate.span)
        return Sourced(value, candidate.origin)

    def _default(self, device: DeviceView) -> Sourced[object] | Diagnostic | None:
        source, fact = self.spec.options.__name__, self.info.from_fact
        if fact is not None and fact in device.values:
            value = check_value(self.spec, self.info, device.values[fact])
            if isinstance(value, OptionProblem):
                return value.to_diagnostic()
            return Sourced(value, Origin(OriginKind.DEFAULT, source, detail=f"fact {fact}"))
        if self.info.default is MISSING:
            return None
        return Sourced(self.info.default, Origin(OriginKind.DEFAULT, source))


def _sourced_data(sourced: Sourced[object]) -> dict[str, Any]:
    value = {"unset": True} if sourced.value is UNSET else jsonable(sourced.value)
    return {"value": value, "origin": _origin_data(sourced.origin)}


def _origin_data(origin: Origin) -> dict[str, Any]:
    fields = {
        "kind": origin.kind.value,
        "source": origin.source,
        "line": origin.line,
        "column": origin.column,
        "detail": origin.detail,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _winner(contenders: Iterable[Sourced[object] | Diagnostic]) -> Sourced[object] | Diagnostic | None:
    """The merge rule, over contenders from the strongest to the weakest."""
    tables: list[Sourced[object]] = []
    is_unset = False
    for contender in contenders:
        if isinstance(contender, Diagnostic):
            if not is_unset:
                return contender
        elif contender.value is UNSET:
            is_unset = True
        elif is_unset and contender.origin.kind not in _BASELINE:
            continue
        elif not isinstance(contender.value, dict):
            return _merged(tables) or contender
        else:
            tables.append(contender)
    return _merged(tables)


def _merged(tables: list[Sourced[object]]) -> Sourced[object] | None:
    """The tables, strongest first, as one; its origin is that of the strongest."""
    if not tables:
        return None
    merged: dict[object, object] = {}
    for table in reversed(tables):
        merged |= table.value  # type: ignore[call-overload]  # only tables are collected
    return Sourced(merged, tables[0].origin)
