"""`FleetPlan`: the profiles that may be selected, compiled once, and what decides on each device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from etconfig.app.configuring.configuration import Configuration, configure
from etconfig.app.configuring.profile_choice import AUTO
from etconfig.app.configuring.project_tests import CheckedTests, TestTrial
from etconfig.app.configuring.targets import Delegating
from etconfig.app.configuring.tuned_models import models_in_use
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.memory_needs import fit_condition, need_of_programs
from etconfig.app.programs.variant_conditions import ReadModel
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.errors import ConfigError, PluginError
from etconfig.expression import Expression
from etconfig.facts.facts_by_hand import FactOverrides, source_facts
from etconfig.facts.memory_fit import MemoryFit
from etconfig.facts.registry import FactValue
from etconfig.facts.sheet import FactSheet
from etconfig.fleet.deciding.outcome import DeviceOutcome, ResolvedOption
from etconfig.profile.layer import Layer
from etconfig.profile.selector import ProfileSelector
from etconfig.resolver.compiling.override_forms import Overrides
from etconfig.resolver.deciding.recommendation import recommend
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining.difference import reported_values

EVERY_FACT = "*"
"""Stands for all facts, where a function of a vendor lists them."""


@record(frozen=True)
class DecidingCondition:
    """A condition that decides on some device.

    Attributes:
        expression: The condition.
        by_hand: The values of facts that are set by hand where it is evaluated.
    """

    expression: Expression
    by_hand: Mapping[str, object]


class FleetPlan:
    """Decides about devices, whose facts are plain values, and remembers what it decided.

    A device is decided as `configure` and `Configuration.resolve` do. Devices that agree in the truth of
    `conditions`, and in the values of the facts of `values` and of `readers`, have one outcome.

    Attributes:
        readers: The facts that functions of vendors have read so far, by backend; `*` stands for all facts.
        installation: The plugins, profiles and project file.
        with_memory: True if outcomes say whether the programs fit into the memory of the device.
        tests: The tests of the project whose outcomes are part of the outcomes of devices.
        variants: The models of which outcomes have the variant that a device gets.

    Args:
        program: The program; None for what `configure` uses by default.
        installation: The plugins, profiles and project file.
        profile: `auto`, a name, a path, or None for the choice of the project file.
        require_match: Refuse the fallback of `auto`.
        fact_overrides: Facts that are set by hand on every device.
        overrides: Values that win over all others.
        with_memory: Estimate the memory of the programs.
        tests: Tests of the project.
        variants: Models whose variants are selected.

    Raises:
        ConfigError: the profile that is named, a condition of a profile, or the project file is wrong.
    """

    def __init__(
        self,
        program: Delegating | None,
        installation: Installation,
        *,
        profile: str | None = None,
        require_match: bool = False,
        fact_overrides: FactOverrides | None = None,
        overrides: Overrides | Layer | None = None,
        with_memory: bool = False,
        tests: CheckedTests | None = None,
        variants: Sequence[ReadModel] = (),
    ) -> None:
        self.installation = installation
        self.with_memory = with_memory
        self.tests = tests
        self.variants = variants
        self.readers: dict[str, set[str]] = {}
        self._program = program
        self._overrides = overrides
        self._by_hand = source_facts(fact_overrides, installation.fact_registry)
        project = installation.project
        named = project.profile.target if project is not None and project.profile is not None else AUTO
        self._name = named if profile is None else profile
        self._given = profile
        self._require_match = require_match or (project is not None and project.require_match)
        self._known: dict[str, Configuration | ConfigError | PluginError] = {}
        self._outcomes: dict[object, DeviceOutcome] = {}
        self._needed_bytes: dict[str, int] = {}
        self._fit_conditions: dict[int, Expression] = {}
        self._trials: dict[str, Sequence[Sequence[TestTrial]]] = {}
        self._late_conditions: dict[object, DecidingCondition] = {}
        self._choices: dict[tuple[str, ...], str | Diagnostic] = {}
        if not self.is_auto:
            self._named = self._configured(self._given)

    @property
    def is_auto(self) -> bool:
        """True if each device gets the profile that `auto` selects."""
        return self._name == AUTO

    @cached_property
    def selector(self) -> ProfileSelector:
        """The profiles among which `auto` selects."""
        return self.installation.selector.for_models(models_in_use(self.installation, self._program))

    @cached_property
    def _matched_by_hand(self) -> dict[str, object]:
        """The facts by hand that count when a profile is selected."""
        by_hand = {**self.installation.project_facts, **self._by_hand}
        return {name: each.value for name, each in by_hand.items()}

    def _configured(self, profile: str | None, sheet: FactSheet | None = None) -> Configuration:
        return configure(
            self._program,
            profile=profile,
            require_match=self._require_match,
            facts=sheet or FactSheet.empty(self.installation.fact_registry),
            fact_overrides=self._by_hand,
            overrides=self._overrides,
            installation=self.installation,
        )

    def configuration(self, profile: str) -> Configuration | ConfigError | PluginError:
        """Return the configuration with a profile, or why there is none."""
        if not self.is_auto:
            return self._named
        found = self._known.get(profile)
        if found is None:
            try:
                found = self._configured(profile)
            except (ConfigError, PluginError) as error:
                found = error
            self._known[profile] = found
        return found

    @cached_property
    def _configurations(self) -> tuple[Configuration, ...]:
        """Every configuration that some device may get."""
        if not self.is_auto:
            return (self._named,)
        found = map(self.configuration, self.selector.conditions)
        return tuple(each for each in found if isinstance(each, Configuration))

    @property
    def conditions(self) -> tuple[DecidingCondition, ...]:
        """The conditions that decide, each once; those on memory and options are known once these are."""
        return (*self._conditions, *self._late_conditions.values())

    @cached_property
    def _conditions(self) -> tuple[DecidingCondition, ...]:
        distinct: dict[object, DecidingCondition] = {}
        for each in self._all_conditions():
            used = {name: each.by_hand[name] for name in sorted(each.expression.facts & each.by_hand.keys())}
            key = (each.expression.source, repr(used))
            distinct.setdefault(key, DecidingCondition(each.expression, used))
        return tuple(distinct.values())

    def _all_conditions(self) -> Iterator[DecidingCondition]:
        for model in self.variants:
            for condition in model.conditions:
                yield DecidingCondition(condition, self._matched_by_hand)
        yield from self._conditions_of(self._configurations)

    def _conditions_of(self, configurations: Iterable[Configuration]) -> Iterator[DecidingCondition]:
        if self.is_auto:
            for condition in self.selector.conditions.values():
                yield DecidingCondition(condition, self._matched_by_hand)
        for configuration in configurations:
            by_hand = _by_hand(configuration)
            for condition in configuration.resolver.dependencies.conditions:
                yield DecidingCondition(condition, by_hand)

    def conditions_on(self, profile: str | None) -> Iterator[DecidingCondition]:
        """Yield the conditions that decide on devices with a profile, or without one."""
        found = None if profile is None else self.configuration(profile)
        return self._conditions_of([found] if isinstance(found, Configuration) else [])

    def divide_by(self, condition: Expression) -> None:
        """Let a further condition divide the devices into groups; it decides nothing."""
        self._add_late(condition, {})

    @cached_property
    def values(self) -> frozenset[str]:
        """The facts whose values count, since values of options are computed from them."""
        found = (each.resolver.dependencies.computed_from for each in self._configurations)
        return frozenset(name for names in found for name in names)

    def needed_facts(self, known: frozenset[str]) -> frozenset[str]:
        """Return the known facts whose values count; functions have read some of them."""
        read = frozenset().union(*self.readers.values())
        return known if EVERY_FACT in read else known & (self.values | read)

    def outcome(self, facts: Mapping[str, FactValue]) -> DeviceOutcome:
        """Decide about a device with these facts, which are right in type and range."""
        outcome = self._without_variants(facts)
        if not self.variants:
            return outcome
        known = {**facts, **self._matched_by_hand}
        chosen = tuple((each.model.name, each.choose(known)) for each in self.variants)
        return replace(outcome, variants=chosen)

    def _without_variants(self, facts: Mapping[str, FactValue]) -> DeviceOutcome:
        matched: tuple[str, ...] = ()
        if self.is_auto:
            known = {**facts, **self._matched_by_hand}
            conditions = self.selector.conditions.items()
            matched = tuple(name for name, condition in conditions if condition.evaluate(known) is True)
        choice = self._chosen(matched)
        if isinstance(choice, Diagnostic):
            return DeviceOutcome(cause=choice.code, message=choice.message, matched=matched)
        configuration = self.configuration(choice)
        if not isinstance(configuration, Configuration):
            cause, message = _cause(configuration)
            return DeviceOutcome(profile=choice, cause=cause, message=message, matched=matched)
        signature = self._signature(choice, configuration, facts)
        key = (signature, matched)
        if key not in self._outcomes:
            self._outcomes[key] = self._resolved(choice, configuration, facts, matched, repr(signature))
        outcome = self._with_fit(self._outcomes[key], configuration, facts)
        return self._with_tests(outcome, configuration, facts)

    def _with_tests(
        self, outcome: DeviceOutcome, configuration: Configuration, facts: Mapping[str, FactValue]
    ) -> DeviceOutcome:
        by_hand = _by_hand(configuration)
        here = {**facts, **by_hand}
        found = []
        for checked, trials in zip(
            self.tests or (), self._trials.get(outcome.resolution or "", ()), strict=False
        ):
            found.append((checked.test.name, checked.outcome(trials, here)))
            self._add_late(checked.test.where, by_hand)
            for trial in trials:  # an option is known here, like a fact that is set by hand
                self._add_late(checked.assertion, {**by_hand, **trial.values})
        return replace(outcome, tests=tuple(found)) if found else outcome

    def _add_late(self, condition: Expression | None, by_hand: Mapping[str, object]) -> None:
        if condition is not None:
            used = {name: by_hand[name] for name in sorted(condition.facts & by_hand.keys())}
            key = (condition.source, repr(used))
            self._late_conditions.setdefault(key, DecidingCondition(condition, used))

    def _with_fit(
        self, outcome: DeviceOutcome, configuration: Configuration, facts: Mapping[str, FactValue]
    ) -> DeviceOutcome:
        needed_bytes = self._needed_bytes.get(outcome.resolution or "")
        if needed_bytes is None:
            return outcome
        by_hand = _by_hand(configuration)
        if needed_bytes not in self._fit_conditions:
            self._fit_conditions[needed_bytes] = fit_condition(needed_bytes, self.installation.fact_registry)
        self._add_late(self._fit_conditions[needed_bytes], by_hand)
        return replace(outcome, fits=MemoryFit.of(needed_bytes, {**facts, **by_hand}).fits)

    def resolved_on(self, sheet: FactSheet) -> Resolution:
        """Resolve one device as a whole, with the story of every value.

        Raises:
            ConfigError, PluginError: as for `configure` and `Configuration.resolve`.
        """
        return self._configured(self._given, sheet).resolve()

    def _chosen(self, matched: tuple[str, ...]) -> str | Diagnostic:
        """Return the name of the profile, or why there is none."""
        if not self.is_auto:
            return self._named.chain[-1].name
        if matched not in self._choices:
            try:
                selection = self.selector.choose(
                    dict.fromkeys(matched, True), require_match=self._require_match
                )
                self._choices[matched] = selection.profile.name
            except ConfigError as error:
                self._choices[matched] = error.diagnostics[0]
        return self._choices[matched]

    def _signature(
        self, profile: str, configuration: Configuration, facts: Mapping[str, FactValue]
    ) -> object:
        """Return what decides about a device with this profile: equal signatures have one outcome."""
        dependencies = configuration.resolver.dependencies
        here: Mapping[str, object] = {**facts, **_by_hand(configuration)}
        truths = tuple(condition.evaluate(here) is True for condition in dependencies.conditions)
        values = tuple(here.get(name) for name in dependencies.computed_from)
        advice = tuple(self._basis(configuration, backend, here) for backend in dependencies.functions)
        return profile, truths, values, advice

    def _basis(self, configuration: Configuration, backend: str, facts: Mapping[str, object]) -> object:
        """Return the facts that a vendor's function reads here, with their values; remember their names."""
        reader = _ReadFacts(facts)
        spec = configuration.installation.plugins.backend_spec(backend)
        with suppress(PluginError):  # it fails again when the device is resolved
            recommend(spec, reader)
        by_hand = _by_hand(configuration)
        if reader.is_listed:
            self.readers.setdefault(backend, set()).add(EVERY_FACT)
            return tuple(sorted(facts.items()))
        self.readers.setdefault(backend, set()).update(reader.names - by_hand.keys())
        return tuple((name, facts.get(name)) for name in sorted(reader.names))

    def _resolved(
        self,
        profile: str,
        configuration: Configuration,
        facts: Mapping[str, FactValue],
        matched: tuple[str, ...],
        signature: str,
    ) -> DeviceOutcome:
        sheet = FactSheet.from_values(facts, "inventory", self.installation.fact_registry)
        try:
            resolution = configuration.resolver.resolve(sheet)
            fingerprint = resolution.fingerprint()
            if self.with_memory and fingerprint not in self._needed_bytes:
                need = need_of_programs(configuration.program, resolution)
                if need is not None:
                    self._needed_bytes[fingerprint] = need.peak.size_bytes
            if self.tests and fingerprint not in self._trials:
                tested = self.tests.on(resolution)
                self._trials[fingerprint] = [
                    [replace(trial, arguments=None) for trial in each.trials(tested)] for each in self.tests
                ]
        except (ConfigError, PluginError) as error:
            cause, message = _cause(error)
            return DeviceOutcome(
                profile=profile, cause=cause, message=message, matched=matched, signature=signature
            )
        options = tuple(
            ResolvedOption.of(path, reported.value, reported.origin)
            for path, reported in reported_values(resolution).items()
        )
        return DeviceOutcome(
            profile=profile,
            resolution=fingerprint,
            options=options,
            matched=matched,
            signature=signature,
        )


def _by_hand(configuration: Configuration) -> dict[str, object]:
    return {name: each.value for name, each in configuration.resolver.dependencies.by_hand.items()}


def _cause(error: ConfigError | PluginError) -> tuple[str, str]:
    """Return the code and the message of the first problem."""
    if isinstance(error, ConfigError):
        problem = next((each for each in error.diagnostics if each.is_error), error.diagnostics[0])
        return problem.code, problem.message
    return "broken-plugin", error.message


class _ReadFacts(Mapping[str, object]):
    """Facts that remember which of them are read, also by a function that fails."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values
        self.names: set[str] = set()
        self.is_listed = False

    def __getitem__(self, name: str) -> object:
        self.names.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        self.is_listed = True
        return iter(self._values)

    def __len__(self) -> int:
        self.is_listed = True
        return len(self._values)
