"""`BackendCandidates`: everything that may decide the options of one backend in one method instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from etconfig.diagnostics import Diagnostic
from etconfig.profile import Expression
from etconfig.records import record
from etconfig.resolver.arguments import BackendArguments
from etconfig.resolver.device import DeviceView
from etconfig.resolver.option_candidates import Candidate, OptionCandidates
from etconfig.resolver.recommendation import Recommendation
from etconfig.schema import MISSING, BackendSpec, OptionProblem, assemble_options, build_options

BackendResult: TypeAlias = "BackendArguments | Sequence[Diagnostic]"
"""The typed options of one backend, or all of its problems."""


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
    def _decided(self) -> Sequence[str]:
        """All other options."""
        return [name for name in self.options if name not in self._unconditional]

    def resolve(self, device: DeviceView, recommendation: Recommendation) -> BackendResult:
        """Return the typed options on a device, or all of their problems."""
        values, recommended = self._unconditional.copy(), recommendation.values
        for condition, overlay in self._overlays:
            if device.meets(condition):
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
                return [self._located(problem, device) for problem in built.problems]
            options = built.options
        return BackendArguments(
            options=options,
            candidates=self.options,
            facts=device.values,
            recommendation=recommendation,
            spec=self.spec,
        )

    def _located(self, problem: OptionProblem, device: DeviceView) -> Diagnostic:
        """Return the problem with the places where the options that it names were set."""
        names = problem.related or ((problem.option,) if problem.option else ())
        candidates = (self.options[name].deciding_candidate(device) for name in names)
        return problem.to_diagnostic(*(each.span for each in candidates if each is not None))
