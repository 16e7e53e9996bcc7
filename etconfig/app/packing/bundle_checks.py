"""`bundle_problems`: what may fail on a device, found when packing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from etconfig.app.configuring.configuration import Configuration
from etconfig.device.compiling.option_bounds import option_bounds
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import PluginError
from etconfig.expression import Expression, ExpressionType, parse_expression
from etconfig.facts.registry import FactRegistry
from etconfig.profile.layer import UNSET
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.resolver.deciding.backend_candidates import BackendCandidates
from etconfig.resolver.deciding.expression_types import fits_type
from etconfig.resolver.deciding.merge import hides_lower_values
from etconfig.resolver.deciding.option_candidates import OptionCandidates
from etconfig.resolver.deciding.recommendation import recommend
from etconfig.resolver.proving.combinations import CombinationVerifier
from etconfig.resolver.proving.expression_fit import ExpressionVerifier
from etconfig.schema.coerce import show_value
from etconfig.schema.declaration import MISSING
from etconfig.schema.option_type import OptionKind
from etconfig.schema.spec import BackendSpec

MAX_BUNDLE_COMBINATIONS = 4096
"""The most combinations of conditions about one backend that are tried; beyond it, every pair is."""


def bundle_problems(
    configurations: Iterable[Configuration], registry: FactRegistry, *, strict: bool
) -> tuple[Diagnostic, ...]:
    """Return what is wrong with the configurations of a bundle on some device.

    Args:
        configurations: The profiles, compiled.
        registry: The facts, with the bounds of their values.
        strict: Make an error of each recommendation that a device cannot compute.
    """
    return tuple(dict.fromkeys(_Checks(registry, strict).problems(configurations)))


def _unchecked_budgets(configuration: Configuration) -> Iterator[Diagnostic]:
    """Say that a device does not sum what its instances take; shares are values like any other."""
    budget = configuration.resolver.budget
    for limit in () if budget is None else budget.limits.values():
        yield Diagnostic(
            code="cannot-carry",
            message=f"a bundle has no budget of {limit.resource}: devices resolve without summing it",
            spans=(limit.find_span(),),
            help="check it with `etconfig validate --facts`; shares of it travel as values",
            severity=Severity.NOTE,
        )


class _Checks:
    """The checks of one bundle; equal settings are checked once."""

    def __init__(self, registry: FactRegistry, strict: bool) -> None:
        self._registry, self._strict = registry, strict
        self._ranges = ExpressionVerifier(registry)
        self._combinations = CombinationVerifier(registry, MAX_BUNDLE_COMBINATIONS)
        self._seen: dict[int, object] = {}

    def problems(self, configurations: Iterable[Configuration]) -> Iterator[Diagnostic]:
        """Yield everything that may fail."""
        specs: dict[str, BackendSpec] = {}
        for configuration in configurations:
            self._ranges.steps.renew()
            self._combinations.steps.renew()
            for backends in configuration.resolver.instances.values():
                for backend in backends:
                    specs[backend.spec.id] = backend.spec
                    if id(backend) not in self._seen:
                        self._seen[id(backend)] = backend
                        yield from self._computed_problems(backend)
            yield from self._combined_problems(configuration)
            yield from _unchecked_budgets(configuration)
            yield from _missing_problems(configuration)
        for spec in specs.values():
            yield from self._functions(spec)

    def _combined_problems(self, configuration: Configuration) -> Iterator[Diagnostic]:
        methods_of: dict[str, tuple[BackendSpec, list[str]]] = {}
        for (method, instance), backends in configuration.resolver.instances.items():
            for backend in backends if instance is None else ():
                methods_of.setdefault(backend.spec.id, (backend.spec, []))[1].append(method)
        for spec, methods in methods_of.values():
            of_program = None if ANY_METHOD in methods else methods
            yield from self._combinations.problems(spec, configuration.resolver.layers, of_program)

    def _computed_problems(self, backend: BackendCandidates) -> Iterator[Diagnostic]:
        for option in backend.options.values():
            if id(option) not in self._seen:
                self._seen[id(option)] = option
                yield from self._option_problems(backend.spec, option)

    def _option_problems(self, spec: BackendSpec, option: OptionCandidates) -> Iterator[Diagnostic]:
        """Prove that each value that a device computes is one that the option accepts."""
        first = option.effective[0] if option.effective else None
        is_hidden = first is not None and first.condition is None and hides_lower_values(first.value)
        is_hidden = is_hidden and all(each.value is not UNSET for each in option.effective)
        for candidate in option.effective:
            if isinstance(candidate.value, Expression):
                yield from self._unproven(spec, option, candidate.value, candidate.condition)
        for entry in option.advice if not is_hidden else ():
            for problem in self._unproven(spec, option, entry.value, entry.condition):
                yield replace(problem, notes=(*problem.notes, f"the plugin of {spec.id} recommends it"))
        fact = option.info.from_fact
        if fact is not None and not is_hidden and self._registry.get(fact) is not None:
            expression = parse_expression(fact, self._registry)
            for problem in self._unproven(spec, option, expression, None):
                note = f"its default follows {fact}"
                help = f"set {spec.id}.{option.info.name} in the project file or a profile: {problem.help}"
                yield replace(problem, spans=(), notes=(*problem.notes, note), help=help, fix=None)

    def _unproven(
        self, spec: BackendSpec, option: OptionCandidates, value: Expression, condition: Expression | None
    ) -> Iterator[Diagnostic]:
        info = option.info
        path = f"{spec.id}.{info.name}"
        obstacles = list(option_bounds(info.type).obstacles)
        if not fits_type(info.type, value.type):
            obstacles.append(f"{value.source!r} has another type")
        elif value.type is ExpressionType.STRING and info.type.kind in (OptionKind.INTEGER, OptionKind.FLOAT):
            obstacles.append("a device does not read quantities in text; write a number")
        for obstacle in dict.fromkeys(obstacles):
            yield Diagnostic(
                code="cannot-carry",
                message=f"a bundle cannot carry {path}: {obstacle}",
                spans=(value.span,),
                help="write a value that is known now, or pack for known devices with --facts",
            )
        if obstacles:
            return
        for problem in self._ranges.problems(spec, info, value, condition):
            is_value = problem.code in ("unproven-value", "invalid-value")
            yield replace(problem, severity=Severity.ERROR) if is_value else problem

    def _functions(self, spec: BackendSpec) -> Iterator[Diagnostic]:
        """Name the options that a function of the vendor recommends values for."""
        if spec.recommend is None:
            return
        infos = spec.options.option_infos()
        names = recommended_names(spec, self._registry)
        others = ", and maybe for others on other devices" if names else ""
        for name in names or ("its options",):
            default = infos[name].default if name in infos else MISSING
            becomes = "the default" if default is MISSING else f"the default, {show_value(default)},"
            yield Diagnostic(
                code="cannot-carry",
                severity=Severity.ERROR if self._strict else Severity.WARNING,
                message=f"a bundle cannot carry what {spec.id} recommends for {name}{others}: "
                "a function computes it",
                notes=(f"{becomes} counts on the device",),
                help=f"set {f'{spec.id}.{name}' if names else f'the options of {spec.id}'} in a profile, "
                "or ask the vendor for recommendations as data",
            )


def _missing_problems(configuration: Configuration) -> Iterator[Diagnostic]:
    """Warn of required options that some device may lack."""
    instances = configuration.resolver.instances
    named = {method for method, instance in instances if instance is not None}
    for (method, instance), backends in instances.items():
        if instance is None and method in named:
            continue  # applications may use the others alone, which are complete
        for backend in backends:
            for option in filter(_may_be_missing, backend.options.values()):
                path = f"{backend.spec.id}.{option.info.name}"
                conditions = (each.condition for each in option.effective if each.condition is not None)
                yield Diagnostic(
                    code="missing-option",
                    severity=Severity.WARNING,
                    message=f"{path} is required, and no value of it counts on every device",
                    spans=tuple(condition.span for condition in conditions)[:1],
                    notes=("the options of a device without one cannot be resolved",),
                    help=f"set {path} without a condition, too",
                )


def _may_be_missing(option: OptionCandidates) -> bool:
    info = option.info
    if (
        info.default is not MISSING
        or info.from_fact is not None
        or option.advice
        or option.program is not None
    ):
        return False
    effective = option.effective
    return not effective or effective[0].condition is not None or any(e.value is UNSET for e in effective)


def recommended_names(spec: BackendSpec, registry: FactRegistry) -> tuple[str, ...]:
    """Return the options that a vendor's function recommends values for on a typical device, sorted.

    The function is called without facts, and then with a typical value of each fact that it looked up.
    """
    facts: dict[str, object] = {}
    found: set[str] = set()
    for _ in range(4):
        try:
            recommendation = recommend(spec, facts)
        except PluginError:
            break
        found |= recommendation.values.keys()
        known = {name: _typical(name, registry) for name in recommendation.basis}
        if known.keys() <= facts.keys():
            break
        facts |= {name: value for name, value in known.items() if value is not None}
    return tuple(sorted(found))


def _typical(name: str, registry: FactRegistry) -> object:
    from etconfig.expression.proof.assumptions import Assumptions
    from etconfig.expression.proof.example_facts import typical_value

    return None if registry.get(name) is None else typical_value(name, Assumptions.none(registry))
