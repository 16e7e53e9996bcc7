"""`BackendChains`: the options of one backend in one method instance, and how they are resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from etconfig.diagnostics import Diagnostic
from etconfig.errors import PluginCallError
from etconfig.facts import FactSheet
from etconfig.provenance import Origin, OriginKind, Sourced
from etconfig.resolver.arguments import BackendArguments
from etconfig.resolver.chain import OptionChain
from etconfig.schema import BackendSpec, OptionProblem, build_options, check_value, find_option

Advice: TypeAlias = Mapping[str, Sourced[object]]
"""A vendor's recommended values on one device, by option name."""


@dataclass(frozen=True, kw_only=True)
class BackendChains:
    """What may decide each option of one backend in one method instance.

    Attributes:
        spec: The backend.
        chains: One chain an option, by name.
    """

    spec: BackendSpec
    chains: Mapping[str, OptionChain]

    def resolve(self, facts: FactSheet, advice: Advice) -> BackendArguments | Sequence[Diagnostic]:
        """The typed options on a device with these facts, or everything that is wrong with them."""
        values: dict[str, object] = {}
        problems: list[Diagnostic] = []
        for name, chain in self.chains.items():
            decided = chain.decide(facts, advice.get(name))
            if isinstance(decided, Diagnostic):
                problems.append(decided)
            elif decided is not None:
                values[name] = decided.value
        if problems:
            return problems
        built = build_options(self.spec, values)
        if built.options is None:
            return [self._located(problem, facts, advice) for problem in built.problems]
        return BackendArguments(options=built.options, chains=self.chains, facts=facts, advice=advice)

    def _located(self, problem: OptionProblem, facts: FactSheet, advice: Advice) -> Diagnostic:
        """The problem with the places where the options that it names were set."""
        names = problem.related or ((problem.option,) if problem.option else ())
        chains = (self.chains[name] for name in names)
        spans = (chain.winning_span(facts, advice.get(chain.info.name)) for chain in chains)
        return problem.to_diagnostic(*(span for span in spans if span is not None))


def recommended_values(spec: BackendSpec, facts: FactSheet) -> Advice:
    """The vendor's advice on a device with these facts.

    Raises:
        PluginCallError: the backend's `recommend` raises, or names what is no option or no value.
    """
    if spec.recommend is None:
        return {}
    try:
        raw = dict(spec.recommend(facts.values))
    except Exception as error:
        raise _failed(spec, f"{type(error).__name__}: {error}") from error
    origin = Origin(OriginKind.RECOMMENDATION, spec.id)
    return {name: Sourced(_recommended(spec, name, value), origin) for name, value in raw.items()}


def _recommended(spec: BackendSpec, name: str, raw: object) -> object:
    info, problem = find_option(spec, name)
    if info is None or info.name != name:
        raise _failed(spec, problem.message if problem else name)
    value = check_value(spec, info, raw)
    if isinstance(value, OptionProblem):
        raise _failed(spec, value.message)
    return value


def _failed(spec: BackendSpec, cause: str) -> PluginCallError:
    return PluginCallError(
        group="etconfig.backends",
        name=spec.id,
        call="recommend",
        cause=cause,
        help="report it to the author of the backend's plugin",
    )
