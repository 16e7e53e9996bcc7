"""`BackendCandidates`: everything that may decide the options of one backend in one method instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, TypeAlias

from etconfig.base.provenance import OriginKind, Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.expression import Expression
from etconfig.resolver.deciding.arguments import BackendArguments
from etconfig.resolver.deciding.device_view import DeviceView
from etconfig.resolver.deciding.option_candidates import Candidate, OptionCandidates
from etconfig.resolver.deciding.recommendation import Recommendation
from etconfig.resolver.explaining.toml_text import toml_value
from etconfig.schema.declaration import MISSING
from etconfig.schema.problem import OptionProblem
from etconfig.schema.spec import BackendSpec
from etconfig.schema.validate import are_shareable, assemble_options, build_options

if TYPE_CHECKING:
    from etconfig.schema.options import BackendOptions

BackendResult: TypeAlias = "BackendArguments | Sequence[Diagnostic]"
"""The typed options of one backend, or all of its problems."""

_MAX_KNOWN = 64
"""The most options that are remembered of one backend in one method instance."""


@record(frozen=True, kw_only=True)
class BackendCandidates:
    """Everything that may decide the options of one backend in one method instance.

    Attributes:
        spec: The backend.
        options: The candidates of each option, by its name.
        merge_order: The candidates of all options, each with the name of its option, lowest first.
    """

    spec: BackendSpec
    options: Mapping[str, OptionCandidates]
    merge_order: Sequence[tuple[str, Candidate]]

    @cached_property
    def _unconditional(self) -> dict[str, object]:
        """The values of the options that are simply chosen while no condition holds."""
        return {name: option.unconditional_value for name, option in self.options.items() if option.is_chosen}

    @cached_property
    def _overlays(self) -> Sequence[tuple[Expression, dict[str, object]]]:
        """Conditions with the values that they choose for these options, in merge order.

        Most options are simply chosen, so one `dict.update` for each condition that holds decides them all.
        """
        overlays: list[tuple[Expression, dict[str, object]]] = []
        conditional = {name for name, candidate in self.merge_order if candidate.condition is not None}
        names = conditional & self._unconditional.keys()
        effective = {id(candidate) for name in names for candidate in self.options[name].effective}
        for name, candidate in self.merge_order:
            if candidate.condition is None or id(candidate) not in effective:
                continue
            if not overlays or overlays[-1][0] is not candidate.condition:
                overlays.append((candidate.condition, {}))
            overlays[-1][1][name] = candidate.value
        return overlays

    @cached_property
    def _conditions(self) -> Sequence[Expression]:
        """The conditions of the overlays."""
        return [condition for condition, _ in self._overlays]

    @cached_property
    def _known_options(self) -> dict[tuple[bool, ...], BackendOptions] | None:
        """The options that were created before, by which conditions hold, if nothing else decides them.

        None if something else does, or if equal values may give other options: a class with checks of its own
        runs them each time, and arrays and tables are copied for each object.
        """
        return None if self._decided or not are_shareable(self.spec.options) else {}

    @cached_property
    def _decided(self) -> Sequence[str]:
        """All other options."""
        return [name for name in self.options if name not in self._unconditional]

    def resolve(self, device: DeviceView, recommendation: Recommendation) -> BackendResult:
        """Return the typed options on a device, or all of their problems."""
        recommended = recommendation.values
        known = None if recommended else self._known_options
        holding = tuple(map(device.meets, self._conditions))
        options = None if known is None else known.get(holding)
        if options is None:
            decided = self._decide(device, holding, recommended)
            if isinstance(decided, list):
                return decided
            options = decided
            if known is not None:
                if len(known) == _MAX_KNOWN:
                    known.clear()
                known[holding] = options
        return BackendArguments(
            options=options,
            candidates=self.options,
            facts=device.values,
            recommendation=recommendation,
            spec=self.spec,
        )

    def _decide(
        self, device: DeviceView, holding: Iterable[bool], recommended: Mapping[str, Sourced[object]]
    ) -> BackendOptions | list[Diagnostic]:
        """Return the typed options on a device on which these overlays hold, or all of their problems."""
        values = self._unconditional.copy()
        for _, overlay in compress(self._overlays, holding):
            values.update(overlay)
        problems: list[Diagnostic] = []
        for name in dict.fromkeys((*self._decided, *recommended)) if recommended else self._decided:
            value = self.options[name].decide(device, recommended.get(name))
            if isinstance(value, Diagnostic):
                problems.append(value)
            elif value is not MISSING:
                values[name] = value
        if problems:
            return problems
        options = assemble_options(self.spec.options, values)
        if options is None:
            built = build_options(self.spec, values)
            if built.options is None:
                return [self._located(problem, device, recommended) for problem in built.problems]
            options = built.options
        return options

    def _located(
        self, problem: OptionProblem, device: DeviceView, recommended: Mapping[str, Sourced[object]]
    ) -> Diagnostic:
        """Return the problem with the places where the options that it names were set, if they were."""
        names = problem.related or ((problem.option,) if problem.option else ())
        candidates = (self.options[name].deciding_candidate(device) for name in names)
        found = problem.to_diagnostic(*(each.span for each in candidates if each is not None))
        advised = [name for name in names if self._is_recommended(name, device, recommended)]
        if not advised:
            return found
        values = ((name, self.options[name].decide(device, recommended.get(name))) for name in advised)
        notes = (f"{name} = {toml_value(value)} is recommended on such a device" for name, value in values)
        help = f"set {', '.join(advised)} too: what is set beats what is recommended"
        return replace(found, notes=(*found.notes, *notes), help=found.help or help)

    def _is_recommended(
        self, name: str, device: DeviceView, recommended: Mapping[str, Sourced[object]]
    ) -> bool:
        try:
            origin = self.options[name].origin(device, recommended.get(name))
        except LookupError:
            return False
        return origin.kind is OriginKind.RECOMMENDATION
