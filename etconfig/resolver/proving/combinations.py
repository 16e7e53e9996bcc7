"""Checks of combined conditions: validators and process-wide options, for every combination.

Two overlays may conflict only on a device that meets both conditions. So the arguments of a backend are
resolved on example devices: one for each combination of conditions that simple reasoning does not rule out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import OptionError, PluginError
from etconfig.expression import Expression
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.example_devices import MAX_COMBINATIONS, ExampleFacts, example_devices
from etconfig.expression.proof.example_facts import typical_value
from etconfig.expression.proof.proof_steps import ProofLimitError, ProofSteps
from etconfig.expression.proof.ranges import range_of_value
from etconfig.facts.registry import FactRegistry
from etconfig.facts.sheet import FactSheet
from etconfig.profile.layer import Assignment, Layer
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.advice import AdviceReader
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.schema.declaration import Scope
from etconfig.schema.spec import BackendSpec
from etconfig.schema.validate import has_own_checks

_FOUND_TOGETHER = frozenset(
    ("option-conflict", "process-scope-conflict", "failing-option-check", "invalid-value")
)
"""The codes of problems with several options; others were found one by one, or depend on the example."""

_SOURCE = "example"
_MAX_KNOWN = 1024

_MAX_STEPS = 1_400_000
"""The most steps to find example devices for all backends of a file and to resolve them: about a second."""

_RESOLVED = 100
"""The steps to resolve the options of one method on one device, apart from the steps for each assignment."""


class CombinationVerifier:
    """Checks the options of backends for all combinations of conditions.

    Equal settings without problems are not resolved again, since files repeat each other.

    Attributes:
        registry: The facts, with the bounds of their values.
        steps: The steps that the combinations of one file may take; renewed for each file.

    Args:
        registry: The facts.
        most: The most combinations of the conditions of one backend to try; beyond it, pairs are tried.
    """

    def __init__(self, registry: FactRegistry, most: int = MAX_COMBINATIONS) -> None:
        self.registry = registry
        self.steps = ProofSteps(_MAX_STEPS)
        self._most = most
        self._advice = AdviceReader(registry)
        self._known_good: set[object] = set()
        self._conflicting: dict[str, frozenset[str] | None] = {}

    def problems(
        self, spec: BackendSpec, layers: Sequence[Layer], methods: Collection[str] | None = None
    ) -> Iterator[Diagnostic]:
        """Report the problems of a backend's options on some device, each once.

        Args:
            spec: The backend.
            layers: The layers; their assignments were verified one by one.
            methods: The methods of a program that delegate to the backend; None for all that the
                layers name, and any other.
        """
        own = [a for layer in layers for a in layer.assignments if a.path.backend == spec.id]
        if not own or not self._can_conflict(spec, own):
            return
        key: object = _key(spec, own, layers, methods)
        try:
            if key in self._known_good:
                return
        except TypeError:  # a list or a table
            key = None
        is_good = True
        for problem in self._find_problems(spec, _layers_of_backend(layers, spec.id), methods):
            is_good = False
            yield problem
        if is_good and key is not None and len(self._known_good) < _MAX_KNOWN:
            self._known_good.add(key)

    def _can_conflict(self, spec: BackendSpec, assignments: Sequence[Assignment]) -> bool:
        """Return True if the backend has checks of its own, or options of the whole process that are set."""
        if spec.id not in self._conflicting:
            self._conflicting[spec.id] = _conflicting_options(spec)
        found = self._conflicting[spec.id]
        return found is None or not found.isdisjoint([a.path.option for a in assignments])

    def _find_problems(
        self, spec: BackendSpec, layers: Sequence[Layer], methods: Collection[str] | None
    ) -> Iterator[Diagnostic]:
        targets = _targets(layers, spec.id, methods)
        resolver = Resolver.compile({spec.id: spec}, layers, targets, advice=self._advice)
        # what vendors recommend applies where the conditions need its facts, as their functions do
        recommended = tuple(entry.value for entry in self._advice.entries(spec))
        conditions, computed = _conditions(layers), _computed_values(layers)
        nothing = _given_facts(layers, self.registry, self.steps)
        found, skipped = example_devices(conditions, nothing, self._most)
        seen: set[object] = set()
        assignments = sum(len(layer.assignments) for layer in layers)
        for number, facts in enumerate(found):
            try:
                self.steps.spend(_RESOLVED * len(targets) + assignments)
            except ProofLimitError:
                skipped = f"{number} of {len(found)} example devices were tried, no more"
                break
            for problem in _problems(resolver, _sheet(facts, computed, nothing)):
                key = (problem.code, problem.message, problem.spans)
                if (
                    problem.code in _FOUND_TOGETHER
                    and key not in seen
                    and not _is_computed(problem, (*computed, *recommended))
                ):
                    seen.add(key)
                    yield _explained(problem, conditions, facts)
        if skipped:
            yield _unchecked(spec, conditions, skipped, layers)


def _conflicting_options(spec: BackendSpec) -> frozenset[str] | None:
    """Return the names of the options of the whole process; None if checks of its own may combine any."""
    if has_own_checks(spec.options):
        return None
    infos = spec.options.option_infos()
    return frozenset(
        each
        for name, info in infos.items()
        if info.scope is Scope.PROCESS
        for each in (name, *info.renamed_from)
    )


def _key(
    spec: BackendSpec,
    assignments: Sequence[Assignment],
    layers: Sequence[Layer],
    methods: Collection[str] | None,
) -> object:
    """Return all that the result depends on; it has no hash if a value is a list or a table."""
    # of plain texts: comparing paths and expressions is slower, and files are many
    settings = tuple(
        [
            (
                a.path.option,
                a.path.method,
                a.path.instance,
                type(a.value),
                a.value,
                None if a.condition is None else a.condition.source,
            )
            for a in assignments
        ]
    )
    facts = tuple([(name, fact.value) for layer in layers for name, fact in layer.facts.items()])
    instances = tuple([(each.name, each.method) for layer in layers for each in layer.instances])
    return (spec.id, settings, facts, instances, None if methods is None else tuple(methods))


def _layers_of_backend(layers: Sequence[Layer], backend: str) -> tuple[Layer, ...]:
    return tuple(
        replace(layer, assignments=tuple(a for a in layer.assignments if a.path.backend == backend))
        for layer in layers
    )


def _targets(layers: Sequence[Layer], backend: str, methods: Collection[str] | None) -> tuple[Target, ...]:
    """Return the methods of the program; without one, the named ones, and any other."""
    if methods is not None:
        return tuple(Target(method=method, backends=(backend,)) for method in methods)
    named = {a.path.method for layer in layers for a in layer.assignments if a.path.method}
    named |= {declared.method for layer in layers for declared in layer.instances}
    literal = sorted(name for name in named if not set(name) & set("*?["))
    return tuple(Target(method=method, backends=(backend,)) for method in (*literal, ANY_METHOD))


def _conditions(layers: Sequence[Layer]) -> tuple[Expression, ...]:
    """Return the conditions, each once, in the order in which they are written."""
    found = (a.condition for layer in layers for a in layer.assignments if a.condition is not None)
    return tuple(dict.fromkeys(found))


def _computed_values(layers: Sequence[Layer]) -> tuple[Expression, ...]:
    values = (a.value for layer in layers for a in layer.assignments)
    return tuple(value for value in values if isinstance(value, Expression))


def _given_facts(layers: Sequence[Layer], registry: FactRegistry, steps: ProofSteps) -> Assumptions:
    """Assume the facts that the layers set by hand; of other facts, the bounds are known."""
    given = {name: sourced.value for layer in layers for name, sourced in layer.facts.items()}
    ranges = {name: range_of_value(value) for name, value in given.items()}
    return Assumptions(registry, ranges, dict.fromkeys(given, True), {}, {}, steps)


def _sheet(facts: ExampleFacts, computed: Sequence[Expression], nothing: Assumptions) -> FactSheet:
    """Return the sheet of an example device; facts that values are computed from have a typical value."""
    names = {name for expression in computed for name in expression.facts}
    typical = {name: typical_value(name, nothing) for name in names - facts.keys()}
    origin = Origin(OriginKind.OVERRIDE, _SOURCE)
    known = {name: value for name, value in {**typical, **facts}.items() if value is not None}
    values = {name: Sourced(value, origin) for name, value in known.items()}
    return FactSheet.empty(nothing.registry).with_overrides(values)


def _problems(resolver: Resolver, sheet: FactSheet) -> Sequence[Diagnostic]:
    try:
        resolver.resolve(sheet)
    except OptionError as error:
        return error.diagnostics
    except PluginError:
        return ()  # a recommendation fails on the example, which says nothing about this file
    return ()


def _is_computed(problem: Diagnostic, computed: Sequence[Expression]) -> bool:
    """Return True if the refused value comes from an expression, and so depends on the example."""
    return problem.code == "invalid-value" and any(
        span == expression.span for expression in computed for span in problem.spans
    )


def _explained(problem: Diagnostic, conditions: Sequence[Expression], facts: ExampleFacts) -> Diagnostic:
    """Return the problem, with the conditions that lead to it and a device that meets them."""
    met = [condition.source for condition in conditions if condition.evaluate(facts) is True]
    if not met:
        return problem
    holds = "holds" if len(met) == 1 else "hold"
    shown = ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in facts.items())
    where = f"where {' and '.join(map(repr, met))} {holds}"
    return replace(problem, notes=(*problem.notes, where, f"for example with {shown}"))


def _unchecked(
    spec: BackendSpec, conditions: Sequence[Expression], skipped: str, layers: Sequence[Layer]
) -> Diagnostic:
    first = next(each for layer in layers for each in layer.assignments)
    return Diagnostic(
        code="unchecked-combinations",
        message=f"{len(conditions)} conditions decide about {spec.id}; {skipped}",
        spans=(conditions[0].span if conditions else first.key_span,),
        help="resolve with --facts for the devices that matter",
        severity=Severity.WARNING,
    )
