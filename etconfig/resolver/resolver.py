"""`Resolver`: compiled once from schemas and layers, then resolved for any device."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError
from etconfig.facts import FactSheet
from etconfig.profile import Layer
from etconfig.resolver.arguments import Arguments, BackendArguments
from etconfig.resolver.backend_chains import Advice, BackendChains, recommended_values
from etconfig.resolver.chain import OptionChain
from etconfig.resolver.matching import MatchedAssignment, Matcher, Names
from etconfig.resolver.resolution import Resolution
from etconfig.schema import BackendSpec, Scope, show_value

ANY_METHOD = "*"
"""The name under which options for any method are resolved when there is no program."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """One method that arguments are resolved for.

    Attributes:
        method: Its name, or `ANY_METHOD`.
        backends: The ids of the backends that it delegates to.
        instances: Instances of it that the caller names, besides those that layers declare.
    """

    method: str
    backends: tuple[str, ...]
    instances: tuple[str, ...] = ()


Slot: TypeAlias = "tuple[str, str | None]"
"""A method and one of its instances; None is the default instance."""


@dataclass(frozen=True, kw_only=True)
class Resolver:
    """Everything that does not depend on the device, checked and sorted by `Resolver.compile`.

    Attributes:
        slots: For each method instance, the chains of each backend's options, by name.
        layers: The sources of settings, lowest precedence first.
        warnings: What is wrong without stopping the work.
    """

    slots: Mapping[Slot, Sequence[BackendChains]]
    layers: tuple[Layer, ...]
    warnings: tuple[Diagnostic, ...] = ()

    @classmethod
    def compile(
        cls,
        specs: Mapping[str, BackendSpec],
        layers: Sequence[Layer],
        targets: Sequence[Target],
        known_backends: Collection[str] = (),
    ) -> Resolver:
        """Check all assignments against the schemas, and sort them by method instance and option.

        Args:
            specs: The schemas of the targets' backends at least, by id.
            layers: The sources of settings, lowest precedence first.
            targets: The methods to resolve for.
            known_backends: Further ids that are no mistake: installed, but not needed here.

        Raises:
            OptionError: with every problem of every assignment, also of those whose condition
                does not hold anywhere.
        """
        instances = _instances(layers, targets)
        methods = {target.method for target in targets}
        names = Names(
            specs=specs,
            known_backends={*specs, *known_backends},
            methods=None if ANY_METHOD in methods else methods,
            instances=instances,
        )
        matcher = Matcher(names=names)
        matched = matcher.match(layers)
        if any(diagnostic.is_error for diagnostic in matcher.diagnostics):
            raise OptionError(diagnostics=tuple(matcher.diagnostics))
        slots = {
            (target.method, instance): [
                _chains(specs[backend], target.method, instance, matched.get(backend, ()))
                for backend in target.backends
            ]
            for target in targets
            for instance in [None, *(name for name, method in instances.items() if method == target.method)]
        }
        return cls(slots=slots, layers=tuple(layers), warnings=tuple(matcher.diagnostics))

    def resolve(self, facts: FactSheet) -> Resolution:
        """The arguments on a device with these facts.

        Hand-set facts of the layers replace those of `facts`.

        Raises:
            FactError: a hand-set fact is unknown or has the wrong type.
            OptionError: an option has no valid value; with every problem of every method instance.
            PluginCallError: a backend's recommendation failed.
        """
        for layer in self.layers:
            if layer.facts:
                facts = facts.with_overrides(layer.facts)
        advice = self._advice(facts)
        resolved: dict[Slot, Arguments] = {}
        problems: dict[Slot, list[Diagnostic]] = {}
        for slot, backends in self.slots.items():
            found, wrong = _resolve_backends(backends, facts, advice)
            if wrong:
                problems[slot] = wrong
            else:
                resolved[slot] = Arguments(method=slot[0], instance=slot[1], backends=found)
        incomplete = {slot: wrong for slot, wrong in problems.items() if self._is_template(slot, wrong)}
        errors = [d for slot, wrong in problems.items() if slot not in incomplete for d in wrong]
        errors += _process_conflicts(resolved.values())
        if errors:
            raise OptionError(diagnostics=tuple(dict.fromkeys(errors)))
        return Resolution(slots=resolved, incomplete=incomplete, facts=facts, warnings=self.warnings)

    def _advice(self, facts: FactSheet) -> Mapping[str, Advice]:
        specs = {chains.spec.id: chains.spec for backends in self.slots.values() for chains in backends}
        return {backend: recommended_values(spec, facts) for backend, spec in specs.items()}

    def _is_template(self, slot: Slot, problems: Sequence[Diagnostic]) -> bool:
        """Whether it is a default instance that only serves the named ones, and so may lack options."""
        method, instance = slot
        has_named = any(m == method and i is not None for m, i in self.slots)
        return instance is None and has_named and all(d.code == "missing-option" for d in problems)


def _instances(layers: Sequence[Layer], targets: Sequence[Target]) -> Mapping[str, str]:
    """Every named instance and its method; a later layer may move one to another method."""
    declared = {d.name: d.method for layer in layers for d in layer.instances}
    named = {name: target.method for target in targets for name in target.instances}
    return declared | named


def _chains(
    spec: BackendSpec, method: str, instance: str | None, matched: Sequence[MatchedAssignment]
) -> BackendChains:
    here = [m for m in matched if m.applies_to(method, instance)]
    chains = {
        name: OptionChain(spec=spec, info=info, candidates=tuple(m.candidate for m in here if m.info is info))
        for name, info in spec.options.option_infos().items()
    }
    return BackendChains(spec=spec, chains=chains)


def _resolve_backends(
    backends: Sequence[BackendChains], facts: FactSheet, advice: Mapping[str, Advice]
) -> tuple[dict[str, BackendArguments], list[Diagnostic]]:
    found: dict[str, BackendArguments] = {}
    problems: list[Diagnostic] = []
    for chains in backends:
        backend = chains.spec.id
        outcome = chains.resolve(facts, advice[backend])
        if isinstance(outcome, BackendArguments):
            found[backend] = outcome
        else:
            problems += outcome
    return found, problems


def _process_conflicts(resolved: Iterable[Arguments]) -> list[Diagnostic]:
    """Options of the whole process on which method instances disagree."""
    first: dict[tuple[str, str], Arguments] = {}
    conflicts: list[Diagnostic] = []
    for arguments in resolved:
        for backend, option in _process_options(arguments):
            other = first.setdefault((backend, option), arguments)
            mine, theirs = (getattr(a[backend], option) for a in (arguments, other))
            if mine != theirs:
                conflicts.append(_conflict(backend, option, (other, theirs), (arguments, mine)))
    return conflicts


def _process_options(arguments: Arguments) -> Iterator[tuple[str, str]]:
    for backend, resolved in arguments.backends.items():
        for name, info in resolved.options.option_infos().items():
            if info.scope is Scope.PROCESS:
                yield backend, name


def _conflict(
    backend: str, option: str, one: tuple[Arguments, object], two: tuple[Arguments, object]
) -> Diagnostic:
    sides = (f"{a.label}: {show_value(value)}, from {a.origin(backend, option)}" for a, value in (one, two))
    return Diagnostic(
        code="process-scope-conflict",
        message=f"{backend}.{option} holds for the whole process, but method instances disagree on it",
        notes=tuple(sides),
        help=f"set {backend}.{option} for every method alike",
    )
