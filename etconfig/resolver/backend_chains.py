"""`BackendChains`: the options of one backend in one method instance, and how they are resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from etconfig.diagnostics import Diagnostic
from etconfig.profile import Expression
from etconfig.records import record
from etconfig.resolver.advice import Advice
from etconfig.resolver.arguments import BackendArguments
from etconfig.resolver.chain import Candidate, OptionChain
from etconfig.resolver.device import DeviceView
from etconfig.schema import MISSING, BackendSpec, OptionProblem, assemble_options, build_options

Outcome: TypeAlias = "BackendArguments | Sequence[Diagnostic]"
"""The typed options of one backend, or everything that is wrong with them."""


@record(frozen=True, kw_only=True)
class BackendChains:
    """What may decide each option of one backend in one method instance.

    Attributes:
        spec: The backend.
        chains: One chain an option, by name.
        merge_order: The candidates of all chains, each with the name of its option, lowest first.
    """

    spec: BackendSpec
    chains: Mapping[str, OptionChain]
    merge_order: Sequence[tuple[str, Candidate]]

    @cached_property
    def _unconditional(self) -> dict[str, object]:
        """The values of the options that are simply chosen while no condition holds."""
        return {name: chain.unconditional_value for name, chain in self.chains.items() if chain.is_chosen}

    @cached_property
    def _overlays(self) -> Sequence[tuple[Expression, dict[str, object]]]:
        """Conditions, and the values that replace those of these options where they hold, in merge order.

        So one `dict.update` for each condition does the work of a merge for each option.
        """
        overlays: list[tuple[Expression, dict[str, object]]] = []
        effective = {id(c) for name in self._unconditional for c in self.chains[name].effective}
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
        return [name for name in self.chains if name not in self._unconditional]

    def resolve(self, device: DeviceView, advice: Advice) -> Outcome:
        """The typed options on a device, or everything that is wrong with them."""
        values = self._unconditional.copy()
        for condition, overlay in self._overlays:
            if device.meets(condition):
                values.update(overlay)
        problems: list[Diagnostic] = []
        for name in dict.fromkeys((*self._decided, *advice.values)) if advice.values else self._decided:
            decided = self.chains[name].decide(device, advice.values.get(name))
            if isinstance(decided, Diagnostic):
                problems.append(decided)
            elif decided is not MISSING:
                values[name] = decided
        if problems:
            return problems
        options = assemble_options(self.spec.options, values)
        if options is None:
            built = build_options(self.spec, values)
            if built.options is None:
                return [self._located(problem, device) for problem in built.problems]
            options = built.options
        return BackendArguments(options=options, chains=self.chains, facts=device.values, advice=advice)

    def _located(self, problem: OptionProblem, device: DeviceView) -> Diagnostic:
        """The problem with the places where the options that it names were set."""
        names = problem.related or ((problem.option,) if problem.option else ())
        candidates = (self.chains[name].deciding_candidate(device) for name in names)
        return problem.to_diagnostic(*(each.span for each in candidates if each is not None))
