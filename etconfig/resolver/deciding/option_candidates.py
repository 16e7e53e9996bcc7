"""`OptionCandidates`: everything that may decide one option of one method instance, in merge order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Span
from etconfig.expression import Expression, Fault, Unknown
from etconfig.profile.layer import UNSET, PlaceFinder
from etconfig.resolver.deciding.advice import CheckedAdvice, advised
from etconfig.resolver.deciding.device_view import DeviceView
from etconfig.resolver.deciding.merge import hides_lower_values, key_owners, merged
from etconfig.resolver.deciding.value_provenance import Provenance
from etconfig.schema.declaration import MISSING, OptionInfo
from etconfig.schema.problem import OptionProblem
from etconfig.schema.spec import BackendSpec
from etconfig.schema.validate import check_value


@record(frozen=True, kw_only=True)
class Candidate:
    """One assignment as one option sees it.

    Attributes:
        value: A value of the option's type, an expression that gives one, or `UNSET`.
        place: Finds the place where it was written.
        condition: The condition that it depends on, or None.
        is_bundled: True if a profile that comes with etconfig sets it, so that nobody asked for it.
    """

    value: object
    place: PlaceFinder
    condition: Expression | None = None
    is_bundled: bool = False

    @property
    def origin(self) -> Origin:
        """The place where it was written, for provenance."""
        return self.place.find().origin

    @property
    def span(self) -> Span:
        """The place where it was written, for diagnostics."""
        return self.place.find().span


@record(frozen=True, kw_only=True)
class OptionCandidates:
    """Everything that may decide one option of one method instance.

    Attributes:
        spec: The backend.
        info: The option.
        candidates: In merge order, lowest first; the recommendation, the program's value and the default lie
            below them.
        program: The value that the program fixes ahead of time, if there is one.
        advice: What the vendor recommends for the option, checked; the first entry that applies decides.
    """

    spec: BackendSpec
    info: OptionInfo
    candidates: tuple[Candidate, ...] = ()
    program: Sourced[object] | None = None
    advice: tuple[CheckedAdvice, ...] = ()

    @cached_property
    def effective(self) -> Sequence[Candidate]:
        """The candidates that can decide on some device: all that no unconditional one hides."""
        hiding = (
            index
            for index, candidate in enumerate(self.candidates)
            if candidate.condition is None and hides_lower_values(candidate.value)
        )
        return self.candidates[max(hiding, default=0) :]

    @property
    def is_chosen(self) -> bool:
        """True if the value on any device is a literal one: not merged, unset, computed or missing."""
        if self.program is not None:
            return False
        has_default = self.info.from_fact is None and self.info.default is not MISSING and not self.advice
        if not self.candidates:  # most options: nothing is configured, and the default is at hand
            return has_default
        has_base = self.effective and self.effective[0].condition is None
        if not has_base and not has_default:
            return False
        return not any(c.value is UNSET or isinstance(c.value, (dict, Expression)) for c in self.effective)

    @property
    def unconditional_value(self) -> object:
        """The value, if the option `is_chosen`, while no condition holds and nothing is recommended."""
        if not self.candidates:
            return self.info.default
        values = (c.value for c in self.effective if c.condition is None)
        return merged(values, lambda: self.info.default)

    @cached_property
    def computed_from(self) -> frozenset[str]:
        """The facts that values are computed from; the facts of conditions are not among them."""
        named = frozenset([self.info.from_fact]) if self.info.from_fact else frozenset()
        values = [*(each.value for each in self.advice), *(each.value for each in self.candidates)]
        expressions = (value for value in values if isinstance(value, Expression))
        return named.union(*(expression.facts for expression in expressions))

    @cached_property
    def facts(self) -> frozenset[str]:
        """Every fact that the value may depend on, including the facts of conditions that do not hold."""
        conditions = [
            *(each.condition for each in self.advice),
            *(each.condition for each in self.candidates),
        ]
        return self.computed_from.union(*(each.facts for each in conditions if each is not None))

    def decide(self, device: DeviceView, recommended: Sourced[object] | None) -> object:
        """Return the value on a device; a diagnostic if there can be none, `MISSING` if nothing sets it.

        It looks up no positions in documents, which would cost more than all the rest.

        Args:
            device: The device.
            recommended: The value that the vendor's function recommends for this option, if there is one.
        """
        holding = [c for c in self.effective if c.condition is None or device.meets(c.condition)]
        value = merged((c.value for c in holding), partial(self._baseline, device, recommended))
        return self._computed(holding[-1], value, device) if isinstance(value, Expression) else value

    def deciding_candidate(self, device: DeviceView) -> Candidate | None:
        """Return the strongest candidate on a device, None if something below all of them decides."""
        for candidate in reversed(self.effective):
            if candidate.condition is None or device.meets(candidate.condition):
                return None if candidate.value is UNSET else candidate
        return None

    def origin(self, device: DeviceView, recommended: Sourced[object] | None) -> Origin:
        """Return the origin of the value that `decide` gives, which is much less work than its provenance.

        Raises:
            LookupError: `decide` gives no value.
        """
        candidate = self.deciding_candidate(device)
        if candidate is not None:
            return candidate.origin
        for sourced in self._sourced_baseline(device, recommended):
            return sourced.origin
        raise LookupError(f"{self.spec.id}.{self.info.name} has no value")

    def provenance(self, device: DeviceView, recommended: Sourced[object] | None) -> Provenance:
        """Explain the value that `decide` gives.

        Raises:
            LookupError: `decide` gives no value.
        """
        value = self.decide(device, recommended)
        if value is MISSING or isinstance(value, Diagnostic):
            raise LookupError(f"{self.spec.id}.{self.info.name} has no value")
        baseline = [*self._sourced_baseline(device, recommended)]
        candidate = self.deciding_candidate(device)
        origin = baseline[0].origin if candidate is None else candidate.origin
        candidates = [*self._sourced_candidates(device)]
        contenders, facts = [*candidates, *baseline], tuple(sorted(self.facts))
        if not isinstance(value, dict):
            beaten = tuple(each for each in contenders if each.origin is not origin)
            reason = next((entry.reason for entry in self.advice if entry.origin is origin), "")
            return Provenance(winner=Sourced(value, origin), beaten=beaten, facts=facts, reason=reason)
        owners = key_owners(*([each.value for each in reversed(part)] for part in (candidates, baseline)))
        lowest_first = contenders[::-1]
        return Provenance(
            winner=Sourced(value, origin),
            beaten=tuple(_beaten_parts(lowest_first, owners))[::-1],
            facts=facts,
            keys={key: lowest_first[owners[key]].origin for key in value},
        )

    def _sourced_candidates(self, device: DeviceView) -> Iterator[Sourced[object]]:
        """Yield the values of the candidates that hold and have one, the strongest first."""
        for candidate in reversed(self.candidates):
            if candidate.condition is None or device.meets(candidate.condition):
                raw = candidate.value
                value = self._computed(candidate, raw, device) if isinstance(raw, Expression) else raw
                if not isinstance(value, Diagnostic):
                    yield Sourced(value, candidate.origin)

    def _sourced_default(self, device: DeviceView) -> Iterator[Sourced[object]]:
        """Yield the default with its origin, if there is one."""
        value, fact = self._default(device), self.info.from_fact
        if value is not MISSING and not isinstance(value, Diagnostic):
            detail = f"fact {fact}" if fact is not None and fact in device.values else None
            yield Sourced(value, Origin(OriginKind.DEFAULT, self.spec.options.__name__, detail=detail))

    def _computed(self, candidate: Candidate, expression: Expression, device: DeviceView) -> object:
        """Return the value of a candidate's expression, or a diagnostic."""
        result = expression.evaluate(device.values)
        if isinstance(result, (Unknown, Fault)):
            return expression.failure(result)
        value = check_value(self.spec, self.info, result)
        if not isinstance(value, OptionProblem):
            return value
        from etconfig.mistakes.assignments import computed_value_problem  # most values are right

        return computed_value_problem(value, candidate.span, expression, device.values)

    def _sourced_baseline(
        self, device: DeviceView, recommended: Sourced[object] | None
    ) -> Iterator[Sourced[object]]:
        """Yield the values below all candidates with their origins, the strongest first."""
        for each in self._above_default(device, recommended):
            if not isinstance(each.value, Diagnostic):
                yield each
        yield from self._sourced_default(device)

    def _baseline(self, device: DeviceView, recommended: Sourced[object] | None) -> object:
        """Return the value below all candidates, merged over the default."""
        above = self._above_default(device, recommended)
        if not above:
            return self._default(device)
        return merged((each.value for each in reversed(above)), lambda: self._default(device))

    def _above_default(
        self, device: DeviceView, recommended: Sourced[object] | None
    ) -> Sequence[Sourced[object]]:
        """Return the recommendation and the program's value, the stronger one of them first."""
        if self.advice:
            recommended = self.advised(device)
        if self.program is None:
            return () if recommended is None else (recommended,)
        if recommended is None:
            return (self.program,)
        ranked = (recommended, self.program)
        return ranked[::-1] if self.spec.program_beats_recommendation else ranked

    def advised(self, device: DeviceView) -> Sourced[object] | None:
        """Return the value that the vendor's advice gives on a device, if any; it may be a diagnostic."""
        return advised(self.spec, self.info, self.advice, device)

    def _default(self, device: DeviceView) -> object:
        """Return the schema's default, a diagnostic if its fact does not fit, or `MISSING`."""
        fact = self.info.from_fact
        if fact is None or fact not in device.values:
            return self.info.default
        value = check_value(self.spec, self.info, device.values[fact])
        if not isinstance(value, OptionProblem):
            return value
        from etconfig.mistakes.assignments import default_problem

        return default_problem(value, fact, device.values)


def _beaten_parts(tables: Sequence[Sourced[object]], owners: Mapping[str, int]) -> Iterator[Sourced[object]]:
    """Yield what a merged table lacks of each value below it: `unset`, and the keys that others replaced."""
    for number, each in enumerate(tables):
        if not isinstance(each.value, dict):
            yield each
            continue
        lost = {key: value for key, value in each.value.items() if owners.get(key) != number}
        if lost:
            yield Sourced(lost, each.origin)
