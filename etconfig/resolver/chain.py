"""`OptionChain`: all that may decide one option of one method instance, in merge order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from etconfig.diagnostics import Diagnostic, Span
from etconfig.profile import UNSET, Expression, Fault, PlaceFinder, Unknown
from etconfig.provenance import Origin, OriginKind, Sourced
from etconfig.records import record
from etconfig.resolver.device import DeviceView
from etconfig.resolver.merge import hides_lower_values, merged
from etconfig.schema import MISSING, BackendSpec, OptionInfo, OptionProblem, check_value, jsonable


@record(frozen=True, kw_only=True)
class Candidate:
    """One assignment as one option sees it.

    Attributes:
        value: A value of the option's type, an expression that gives one, or `UNSET`.
        place: Where it was written.
        condition: The condition it depends on, or None.
    """

    value: object
    place: PlaceFinder
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

    @cached_property
    def effective(self) -> Sequence[Candidate]:
        """The candidates that can still have a say: none below an unconditional one that hides it."""
        hiding = (
            index
            for index, candidate in enumerate(self.candidates)
            if candidate.condition is None and hides_lower_values(candidate.value)
        )
        return self.candidates[max(hiding, default=0) :]

    @cached_property
    def is_chosen(self) -> bool:
        """True if the value on any device is one of those written: none is merged, unset or computed."""
        has_base = self.effective and self.effective[0].condition is None
        if not has_base and (self.info.from_fact is not None or self.info.default is MISSING):
            return False
        return not any(c.value is UNSET or isinstance(c.value, (dict, Expression)) for c in self.effective)

    @property
    def unconditional_value(self) -> object:
        """The value of an option that `is_chosen` while no condition holds, without a recommendation."""
        values = (c.value for c in self.effective if c.condition is None)
        return merged(values, lambda: self.info.default)

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

    def decide(self, device: DeviceView, recommended: Sourced[object] | None) -> object:
        """The value on a device; a diagnostic if there can be none, `MISSING` if nothing sets the option.

        Nothing is looked up in documents here: most values are never asked where they came from.

        Args:
            device: The device.
            recommended: The vendor's recommendation for this option, if there is one.
        """
        holding = [c for c in self.effective if c.condition is None or device.meets(c.condition)]
        value = merged((c.value for c in holding), lambda: self._baseline(device, recommended))
        return self._computed(holding[-1], value, device) if isinstance(value, Expression) else value

    def deciding_candidate(self, device: DeviceView) -> Candidate | None:
        """The strongest candidate on a device; None if the recommendation or the default decides."""
        for candidate in reversed(self.effective):
            if candidate.condition is None or device.meets(candidate.condition):
                return None if candidate.value is UNSET else candidate
        return None

    def story(self, device: DeviceView, recommended: Sourced[object] | None) -> Story:
        """Where the value that `decide` gives comes from.

        Raises:
            LookupError: `decide` gives no value.
        """
        value = self.decide(device, recommended)
        if value is MISSING or isinstance(value, Diagnostic):
            raise LookupError(f"{self.spec.id}.{self.info.name} has no value")
        baseline = [*([] if recommended is None else [recommended]), *self._sourced_default(device)]
        candidate = self.deciding_candidate(device)
        origin = baseline[0].origin if candidate is None else candidate.origin
        contenders = [*self._sourced_candidates(device), *baseline]
        beaten = tuple(each for each in contenders if each.origin is not origin)
        return Story(winner=Sourced(value, origin), beaten=beaten, facts=tuple(sorted(self.facts)))

    def _sourced_candidates(self, device: DeviceView) -> Iterator[Sourced[object]]:
        """What the candidates that hold say, the strongest first; without those that give no value."""
        for candidate in reversed(self.candidates):
            if candidate.condition is None or device.meets(candidate.condition):
                value = candidate.value
                said = self._computed(candidate, value, device) if isinstance(value, Expression) else value
                if not isinstance(said, Diagnostic):
                    yield Sourced(said, candidate.origin)

    def _sourced_default(self, device: DeviceView) -> Iterator[Sourced[object]]:
        """The default with its origin, if there is one."""
        value, fact = self._default(device), self.info.from_fact
        if value is not MISSING and not isinstance(value, Diagnostic):
            detail = f"fact {fact}" if fact is not None and fact in device.values else None
            yield Sourced(value, Origin(OriginKind.DEFAULT, self.spec.options.__name__, detail=detail))

    def _computed(self, candidate: Candidate, expression: Expression, device: DeviceView) -> object:
        """The value of a candidate's expression, or a diagnostic."""
        result = expression.evaluate(device.values)
        if isinstance(result, (Unknown, Fault)):
            return expression.failure(result)
        value = check_value(self.spec, self.info, result)
        return value.to_diagnostic(candidate.span) if isinstance(value, OptionProblem) else value

    def _baseline(self, device: DeviceView, recommended: Sourced[object] | None) -> object:
        """What lies below all candidates: the recommendation, and the default below it."""
        if recommended is None:
            return self._default(device)
        return merged((recommended.value,), lambda: self._default(device))

    def _default(self, device: DeviceView) -> object:
        """The value of the schema; a diagnostic if the option cannot be what the fact is; else `MISSING`."""
        fact = self.info.from_fact
        if fact is None or fact not in device.values:
            return self.info.default
        value = check_value(self.spec, self.info, device.values[fact])
        return value.to_diagnostic() if isinstance(value, OptionProblem) else value


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
