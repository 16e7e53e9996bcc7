"""`Resolver`: schemas and layers, compiled once, to be resolved for any device."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from etconfig.base.provenance import Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError
from etconfig.expression import Expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.sheet import FactSheet
from etconfig.profile.layer import UNSET, Layer
from etconfig.profile.selection import Dependencies, dependencies_on
from etconfig.resolver.compiling.matching import MatchedAssignment, Matcher, Names
from etconfig.resolver.compiling.scopes import ScopedAssignments
from etconfig.resolver.deciding.advice import AdviceEntries, AdviceReader, CheckedAdvice
from etconfig.resolver.deciding.arguments import ANY_METHOD, instance_label
from etconfig.resolver.deciding.backend_candidates import BackendCandidates
from etconfig.resolver.deciding.device_view import DeviceView
from etconfig.resolver.deciding.instance_resolver import (
    InstanceResolver,
    InstanceResults,
    Memo,
    MethodInstance,
)
from etconfig.resolver.deciding.option_candidates import Candidate, OptionCandidates
from etconfig.resolver.deciding.program_check import METHOD, noun_of
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.proving.program_conflicts import FixedOption, computed_conflict, literal_conflicts
from etconfig.schema.spec import BackendSpec

if TYPE_CHECKING:
    from etconfig.profile.budget import Budget
    from etconfig.resolver.deciding.budget_gate import BudgetGate


def all_dependencies(
    instances: Mapping[MethodInstance, Sequence[BackendCandidates]],
    layers: Iterable[Layer],
    budget: Budget | None = None,
) -> Dependencies:
    """Return what decides any option of any method instance, and if they stay within their budget."""
    distinct = {id(backend): backend for backends in instances.values() for backend in backends}
    options = {id(option): option for each in distinct.values() for option in each.options.values()}
    conditions: list[Expression] = []
    values: list[str] = []
    if budget is not None:
        from etconfig.resolver.deciding.budget_gate import budget_facts

        values += budget_facts(budget, instances)
    advice: list[str] = []
    for option in options.values():
        entries = _deciding_advice(option)
        decisive: tuple[CheckedAdvice | Candidate, ...] = (*entries, *option.effective)
        conditions += [each.condition for each in decisive if each.condition is not None]
        for each in decisive:
            values += each.value.facts if isinstance(each.value, Expression) else ()
        if option.info.from_fact is not None and _shows_baseline(option):
            values.append(option.info.from_fact)
        advice += [fact for entry in entries for fact in entry.facts]
    return dependencies_on(
        conditions,
        computed_from=values,
        advice=advice,
        functions={each.spec.id for each in distinct.values() if each.spec.recommend is not None},
        by_hand={name: value for layer in layers for name, value in layer.facts.items()},
    )


def _deciding_advice(option: OptionCandidates) -> AdviceEntries:
    return option.advice if option.advice and _shows_baseline(option) else ()


def _shows_baseline(option: OptionCandidates) -> bool:
    """Return True if the recommendation, the program's value or the default may count on some device.

    Tables are merged into what lies below them, and `unset` shows it again.
    """
    if not option.effective or option.effective[0].condition is not None:
        return True
    lowest = option.effective[0].value
    return isinstance(lowest, dict) or any(each.value is UNSET for each in option.effective)


@record(frozen=True, kw_only=True)
class Target:
    """One method that arguments are resolved for.

    Attributes:
        method: Its name, or `ANY_METHOD`.
        backends: The ids of the backends that it delegates to.
        instances: Instances of it that the caller names, in addition to the layers' instances.
        program: For backends whose options the program fixes ahead of time, the values by option.
        is_model: True if an engine runs it without a program, so that it is not a method.
    """

    method: str
    backends: tuple[str, ...]
    instances: tuple[str, ...] = ()
    program: Mapping[str, Mapping[str, Sourced[object]]] = field(default_factory=dict)
    is_model: bool = False


@record(frozen=True, kw_only=True)
class Resolver:
    """Everything that does not depend on the device, checked and sorted by `Resolver.compile`.

    Attributes:
        instances: For each method instance, everything that may decide its backends' options.
        layers: The sources of settings, lowest precedence first.
        warnings: The problems that do not stop the work.
        noun: What the arguments are for, in messages: `method`, `model`, or `model or method`.
        budget: What all method instances may take together, or None.
    """

    instances: Mapping[MethodInstance, Sequence[BackendCandidates]]
    layers: tuple[Layer, ...]
    warnings: tuple[Diagnostic, ...] = ()
    noun: str = METHOD
    budget: Budget | None = None
    _computed: tuple[FixedOption, ...] = field(default=(), compare=False, repr=False)
    _memo: Memo = field(default_factory=Memo, init=False, compare=False, repr=False)

    @classmethod
    def compile(
        cls,
        specs: Mapping[str, BackendSpec],
        layers: Sequence[Layer],
        targets: Sequence[Target],
        known_backends: Collection[str] = (),
        advice: AdviceReader | None = None,
        *,
        undeclared: Collection[str] = (),
        elsewhere: Callable[[], Collection[str]] = tuple,
    ) -> Resolver:
        """Check all assignments against the schemas, and sort them by method instance and option.

        Args:
            specs: The schemas of the targets' backends at least, by id.
            layers: The sources of settings, lowest precedence first.
            targets: The methods to resolve for.
            known_backends: Further ids that are not mistakes: installed, but not needed here.
            advice: Reads what vendors recommend; by default with the built-in facts.
            undeclared: The ids of delegates for which nothing can be set, since no plugin declares them.
            elsewhere: Returns the methods and models of other programs, which a budget may name, too.

        Raises:
            OptionError: with every problem of every assignment, including those whose condition never holds.
            PluginCallError: the advice of a backend is wrong.
        """
        method_of = _instances(layers, targets)
        backends_of = {target.method: target.backends for target in targets}
        noun = noun_of(target.is_model for target in targets)
        names = Names(
            specs=specs,
            known_backends={*specs, *known_backends},
            backends_of=None if ANY_METHOD in backends_of else backends_of,
            instances=method_of,
            noun=noun,
            undeclared=undeclared,
        )
        matcher = Matcher(names=names)
        matched: dict[str, list[MatchedAssignment]] = {}
        for found in matcher.match(layers):
            matched.setdefault(found.assignment.path.backend, []).append(found)
        if any(diagnostic.is_error for diagnostic in matcher.diagnostics):
            raise OptionError(diagnostics=matcher.diagnostics)
        advice = advice or AdviceReader(BUILTIN_FACTS)
        scoped = {
            backend: ScopedAssignments(
                specs[backend], matched.get(backend, ()), advice.entries(specs[backend])
            )
            for backend in dict.fromkeys(backend for target in targets for backend in target.backends)
        }
        names_of: dict[str, list[str]] = {}
        for name, method in method_of.items():
            names_of.setdefault(method, []).append(name)
        instances: dict[MethodInstance, Sequence[BackendCandidates]] = {
            (target.method, instance): [
                scoped[backend].candidates(target.method, instance, target.program.get(backend, {}))
                for backend in target.backends
            ]
            for target in targets
            for instance in (None, *names_of.get(target.method, ()))
        }
        budget, of_budget = _divided(layers, instances, lambda: {*elsewhere(), *method_of})
        fixed = tuple(_fixed_options(instances, targets))
        return cls(
            instances=instances,
            layers=tuple(layers),
            warnings=(*matcher.diagnostics, *of_budget, *literal_conflicts(fixed)),
            noun=noun,
            budget=budget,
            _computed=tuple(each for each in fixed if each.is_computed),
        )

    @cached_property
    def dependencies(self) -> Dependencies:
        """The facts that decide any option of any method instance.

        They decide values, their origins and errors. A value that another one replaces on every device does
        not count, though explanations of the other value show it as beaten.
        """
        return all_dependencies(self.instances, self.layers, self.budget)

    @cached_property
    def _layers_with_facts(self) -> Sequence[Layer]:
        return [layer for layer in self.layers if layer.facts]

    @cached_property
    def _instance_resolver(self) -> InstanceResolver:
        return InstanceResolver(self.instances)

    def resolve(self, facts: FactSheet) -> Resolution:
        """Return the arguments on a device with these facts.

        Hand-set facts of the layers replace the values in `facts`. The result of the last call is
        used again if the facts that decide have not changed. Several threads may call it at the same time.

        Raises:
            FactError: a hand-set fact is unknown or has the wrong type.
            OptionError: an option has no valid value, with every problem of every method instance; or they
                exceed their budget.
            PluginCallError: a backend's recommendation failed.
        """
        for layer in self._layers_with_facts:
            facts = facts.with_overrides(layer.facts)
        found = self._instance_resolver.resolve(facts.values, self._memo.last)
        self._memo.last = found
        warnings = self._warnings_on(facts) if self._computed else self.warnings
        if self.budget is not None:
            warnings += self._budget_problems(found, facts.values)
        return Resolution(
            instances=found.arguments,
            incomplete=found.incomplete,
            facts=facts,
            warnings=warnings,
            noun=self.noun,
            _budget=self.budget,
        )

    @cached_property
    def _gate(self) -> BudgetGate:
        from etconfig.resolver.deciding.budget_gate import BudgetGate

        assert self.budget is not None
        return BudgetGate(self.budget, self.instances)

    def _budget_problems(self, found: InstanceResults, facts: Mapping[str, object]) -> tuple[Diagnostic, ...]:
        """Return the warnings and notes about the budget. Raises OptionError if it is exceeded."""
        assert self.budget is not None
        known = self._memo.budget
        if known is not None and known[0] is found and known[1] is facts:
            return known[2]
        problems: tuple[Diagnostic, ...] = ()
        if not self._gate.is_within(found.arguments, facts):
            from etconfig.resolver.deciding.budget_use import budget_problems

            problems = tuple(budget_problems(self.budget, found.arguments.values(), facts))
            if any(problem.is_error for problem in problems):
                raise OptionError(diagnostics=problems)
        self._memo.budget = (found, facts, problems)
        return problems

    def _warnings_on(self, facts: FactSheet) -> tuple[Diagnostic, ...]:
        device = DeviceView(facts.values)
        conflicts = (computed_conflict(each, device) for each in self._computed)
        return (*self.warnings, *filter(None, conflicts))


def _divided(
    layers: Sequence[Layer],
    instances: dict[MethodInstance, Sequence[BackendCandidates]],
    elsewhere: Callable[[], Collection[str]],
) -> tuple[Budget | None, tuple[Diagnostic, ...]]:
    """Replace shares in all values; return the budget, and its problems that do not stop the work.

    Raises:
        OptionError: a share has no budget, or a name in the budget is mistyped.
    """
    values = (assignment.value for layer in layers for assignment in layer.assignments)
    has_shares = any(isinstance(value, Expression) and value.shares for value in values)
    if not has_shares and all(layer.budget is None for layer in layers):
        return None, ()
    from etconfig.profile.budget import merged_budgets  # few configurations have a budget

    budget = merged_budgets(layer.budget for layer in layers)
    if budget is not None and not has_shares and not budget.names():
        return budget, ()
    from etconfig.resolver.compiling.shares import divide_shares

    return budget, divide_shares(budget, instances, elsewhere)


def _fixed_options(
    instances: Mapping[MethodInstance, Sequence[BackendCandidates]], targets: Sequence[Target]
) -> Iterator[FixedOption]:
    """Yield the options that the program fixes and that some layer sets."""
    program_of = {target.method: target.program for target in targets if any(target.program.values())}
    for (method, instance), backends in instances.items() if program_of else ():
        for backend in backends:
            for name in program_of.get(method, {}).get(backend.spec.id, ()):
                if backend.options[name].candidates:
                    yield FixedOption(instance_label(method, instance), backend.options[name])


def _instances(layers: Sequence[Layer], targets: Sequence[Target]) -> Mapping[str, str]:
    """Return every named instance and its method; a later layer may move one to another method."""
    declared = {d.name: d.method for layer in layers for d in layer.instances}
    named = {name: target.method for target in targets for name in target.instances}
    return declared | named
