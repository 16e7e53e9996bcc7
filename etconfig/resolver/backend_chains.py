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
    def _fixed(self) -> dict[str, object]:
        """What the options that are simply chosen are while no condition holds, in the schema's order."""
        values = ((name, chain.fixed_value) for name, chain in self.chains.items())
        return {name: value for name, value in values if value is not MISSING}

    @cached_property
    def _overlays(self) -> Sequence[tuple[Expression, dict[str, object]]]:
        """Conditions, and what those options are where they hold; a later one wins."""
        overlays: list[tuple[Expression, dict[str, object]]] = []
        settled: set[str] = set()  # what stands below an assignment without a condition never wins
        for name, candidate in reversed(self.merge_order):
            if name in settled or name not in self._fixed:
                continue
            if candidate.condition is None:
                settled.add(name)
            elif overlays and overlays[-1][0] is candidate.condition:
                overlays[-1][1].setdefault(name, candidate.value)
            else:
                overlays.append((candidate.condition, {name: candidate.value}))
        return overlays[::-1]

    @cached_property
    def _decided(self) -> Sequence[str]:
        """All other options."""
        return [name for name in self.chains if name not in self._fixed]

    def resolve(self, device: DeviceView, advice: Advice) -> Outcome:
        """The typed options on a device, or everything that is wrong with them."""
        values = self._fixed.copy()
        for condition, overlay in self._overlays:
            if device.meets(condition):
                values.update(overlay)
        problems: list[Diagnostic] = []
        for name in dict.fromkeys((*self._decided, *advice.values)) if advice.values else self._decided:
            decided = self.chains[name].decide(device, advice.values.get(name))
            if isinstance(decided, Diagnostic):
                problems.append(decided)
            elif decided is not None:
                values[name] = decided.value
        if problems:
            return problems
        options = assemble_options(self.spec.options, values)
        if options is None:
            built = build_options(self.spec, values)
            if built.options is None:
                return [self._located(problem, device, advice) for problem in built.problems]
            options = built.options
        return BackendArguments(options=options, chains=self.chains, facts=device.values, advice=advice)

    def _located(self, problem: OptionProblem, device: DeviceView, advice: Advice) -> Diagnostic:
        """The problem with the places where the options that it names were set."""
        names = problem.related or ((problem.option,) if problem.option else ())
        chains = (self.chains[name] for name in names)
        spans = (chain.winning_span(device, advice.values.get(chain.info.name)) for chain in chains)
        return problem.to_diagnostic(*(span for span in spans if span is not None))
