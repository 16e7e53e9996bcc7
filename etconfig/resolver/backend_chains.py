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
from etconfig.resolver.chain import OptionChain
from etconfig.resolver.device import DeviceView
from etconfig.schema import BackendSpec, OptionProblem, build_options

Outcome: TypeAlias = "BackendArguments | Sequence[Diagnostic]"
"""The typed options of one backend, or everything that is wrong with them."""


@record(frozen=True, kw_only=True)
class BackendChains:
    """What may decide each option of one backend in one method instance.

    Attributes:
        spec: The backend.
        chains: One chain an option, by name.
    """

    spec: BackendSpec
    chains: Mapping[str, OptionChain]

    @cached_property
    def _fixed(self) -> dict[str, object]:
        """The values that are the same on every device, unless its vendor recommends others."""
        return {name: choices[0][1] for name, choices in self._choices if choices[0][0] is None}

    @cached_property
    def _conditions(self) -> Sequence[Expression]:
        """The conditions among the choices, each once."""
        found = {id(c): c for _, choices in self._choices for c, _ in choices if c is not None}
        return list(found.values())

    @cached_property
    def _chosen(self) -> Sequence[tuple[str, Sequence[tuple[int, object]]]]:
        """The options of which the first choice that holds is the value.

        A choice is the number of its condition and a value; -1 is the number of what always holds.
        """
        numbers = {id(condition): number for number, condition in enumerate(self._conditions)}
        return [
            (name, [(numbers.get(id(condition), -1), value) for condition, value in choices])
            for name, choices in self._choices
            if name not in self._fixed
        ]

    @cached_property
    def _decided(self) -> Sequence[str]:
        """All other options."""
        return [name for name, chain in self.chains.items() if chain.choices is None]

    @property
    def _choices(self) -> Sequence[tuple[str, Sequence[tuple[Expression | None, object]]]]:
        return [(name, chain.choices) for name, chain in self.chains.items() if chain.choices is not None]

    def resolve(self, device: DeviceView, advice: Advice) -> Outcome:
        """The typed options on a device, or everything that is wrong with them."""
        values = self._fixed.copy()
        held = [*map(device.meets, self._conditions), True]
        for name, choices in self._chosen:
            for number, value in choices:
                if held[number]:
                    values[name] = value
                    break
        problems: list[Diagnostic] = []
        for name in dict.fromkeys((*self._decided, *advice.values)) if advice.values else self._decided:
            decided = self.chains[name].decide(device, advice.values.get(name))
            if isinstance(decided, Diagnostic):
                problems.append(decided)
            elif decided is not None:
                values[name] = decided.value
        if problems:
            return problems
        built = build_options(self.spec, values)
        if built.options is None:
            return [self._located(problem, device, advice) for problem in built.problems]
        return BackendArguments(options=built.options, chains=self.chains, facts=device.values, advice=advice)

    def _located(self, problem: OptionProblem, device: DeviceView, advice: Advice) -> Diagnostic:
        """The problem with the places where the options that it names were set."""
        names = problem.related or ((problem.option,) if problem.option else ())
        chains = (self.chains[name] for name in names)
        spans = (chain.winning_span(device, advice.values.get(chain.info.name)) for chain in chains)
        return problem.to_diagnostic(*(span for span in spans if span is not None))
