"""Configure a program: choose the profile, gather the layers and schemas, compile the resolver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from etconfig.app.installation import Installation
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import BackendUnavailableError, PluginError, ProfileError, UnknownPluginError
from etconfig.facts import FactSheet
from etconfig.profile import Layer, Profile, ProjectFile, Selection, layers_of, load_chain, select_profile
from etconfig.provenance import OriginKind, Sourced
from etconfig.records import record
from etconfig.resolver import (
    ANY_METHOD,
    ENVIRONMENT_VARIABLE,
    Arguments,
    Overrides,
    Resolution,
    Resolver,
    Target,
    layer_from_environment,
    layer_from_overrides,
)
from etconfig.schema import BackendSpec

AUTO = "auto"
"""The profile that matches this device best."""


@runtime_checkable
class Delegating(Protocol):
    """What configuring asks of a program: which of its methods delegates to which backends."""

    @property
    def installation(self) -> Installation:
        """What is installed."""

    @property
    def method_names(self) -> tuple[str, ...]:
        """The methods."""

    def backends(self, method: str) -> tuple[str, ...]:
        """The ids of the backends that a method delegates to.

        Raises:
            MethodNotFoundError: the program has no such method.
        """


@record(frozen=True, kw_only=True)
class Configuration:
    """What is configured for one device: compiled once, to be resolved as its facts change.

    Attributes:
        resolver: Everything that does not depend on facts.
        chain: The profile, after all that it extends.
        selection: Why that profile was selected, or None when it was named.
        facts: The facts that it was made on, hand-set ones apart.
        installation: What was installed.
    """

    resolver: Resolver
    chain: tuple[Profile, ...]
    selection: Selection | None
    facts: FactSheet
    installation: Installation

    def resolve(self, facts: FactSheet | None = None) -> Resolution:
        """The arguments on these facts, by default those that the configuration was made on.

        The profile stays the one that was chosen, even where `auto` would now choose another.

        Raises:
            OptionError: an option has no valid value; with every problem of every method instance.
            PluginError: a backend's recommendation failed.
        """
        resolution = self.resolver.resolve(self.facts if facts is None else facts)
        return replace(resolution, profile=self.chain[-1].name, selection=self.selection)


def configure(
    program: Delegating | None = None,
    *,
    profile: str | Path | None = None,
    facts: FactSheet | None = None,
    fact_overrides: Mapping[str, Sourced[object]] | None = None,
    overrides: Overrides | Layer = (),
    instances: Mapping[str, Sequence[str]] | None = None,
    installation: Installation | None = None,
) -> Configuration:
    """Choose the profile, read all that is configured, and compile it for `Configuration.resolve`.

    Args:
        program: The program; without one, options are resolved for the methods and backends that
            the configuration mentions, and for any other method under the name `*`.
        profile: `auto`, a profile's name, or the path of a file. By default what the project file
            says, else `auto`.
        facts: The device; by default this one, detected now.
        fact_overrides: Facts set by hand, by name.
        overrides: `["forward:XnnpackBackend.num_threads=2"]`, a mapping of paths to values, or a
            layer that `etconfig.resolver.layer_from_overrides` made of either.
        instances: Names of instances by method, besides those that profiles declare.
        installation: What is installed; by default the program's.

    Raises:
        ConfigError: with every problem that was found.
        BackendUnavailableError: the program delegates to a backend that is not installed.
        PluginError: a plugin that is needed is broken.
        TypeError: an argument is of a wrong type.
    """
    if program is not None:
        check_type("program", program, Delegating, "what etconfig.load_program returns")
    if facts is not None:
        check_type("facts", facts, FactSheet, "a FactSheet, as etconfig.facts.load_fact_sheet reads it")
    if instances is not None:
        check_type("instances", instances, Mapping, 'names by method, as {"forward": ["left", "right"]}')
    if installation is None:
        installation = program.installation if program else Installation(Path.cwd())
    facts = installation.detect_facts() if facts is None else facts
    project = installation.project
    by_hand = Layer(kind=OriginKind.OVERRIDE, name="--fact", facts=fact_overrides or {})
    known = facts.with_overrides({**(project.settings.facts if project else {}), **by_hand.facts})
    chain, selection = choose_profile(installation, profile, known)
    environment = layer_from_environment(installation.environ.get(ENVIRONMENT_VARIABLE, ""))
    set_by_hand = overrides if isinstance(overrides, Layer) else layer_from_overrides(overrides)
    layers = (*layers_of(chain, project), environment, set_by_hand, by_hand)
    if program is None:
        targets, specs, warnings = _targets_of_layers(installation, layers, instances or {})
    else:
        targets = targets_of_program(program, instances or {})
        specs = {b: find_spec(installation, b) for target in targets for b in target.backends}
        warnings = ()
    resolver = Resolver.compile(specs, layers, targets, installation.backend_ids)
    return Configuration(
        resolver=replace(resolver, warnings=(*resolver.warnings, *warnings)),
        chain=chain,
        selection=selection,
        facts=facts,
        installation=installation,
    )


def check_type(argument: str, given: object, kind: type, expected: str) -> None:
    """Refuse an argument that a caller without a type checker got wrong. Raises TypeError."""
    if not isinstance(given, kind):
        raise TypeError(f"{argument}: expected {expected}, given {type(given).__name__}")


def choose_profile(
    installation: Installation, profile: str | Path | None, facts: FactSheet
) -> tuple[tuple[Profile, ...], Selection | None]:
    """The chain of a profile, base first, and why it was selected if it was not named.

    Args:
        installation: Where profiles are, and the project file that may name one.
        profile: `auto`, a name, a path, or None for what the project file says.
        facts: The device, for `auto`.

    Raises:
        ConfigError: there is no such profile, none or several match, or one is malformed.
    """
    if profile is None:
        return choose_project_profile(installation, installation.project, facts)
    if profile == AUTO:
        selection = select_profile(installation.profiles, facts.values)
        return selection.chain, selection
    return load_chain(installation.profiles, profile), None


def choose_project_profile(
    installation: Installation, project: ProjectFile | None, facts: FactSheet
) -> tuple[tuple[Profile, ...], Selection | None]:
    """What a project file selects, or else `auto`; a problem points at the line that selects it.

    Raises:
        ConfigError: as for `choose_profile`.
    """
    if project is None or project.profile is None:
        return choose_profile(installation, AUTO, facts)
    target, span = project.profile.target, project.profile.span
    path = Path(project.name).parent / target if target.endswith(".toml") else target
    try:
        return choose_profile(installation, path, facts)
    except ProfileError as error:
        found = (p if p.spans else replace(p, spans=(span,)) for p in error.diagnostics)
        raise ProfileError(diagnostics=tuple(found)) from error


def find_spec(installation: Installation, backend_id: str) -> BackendSpec:
    """What a backend that a program needs declares.

    Raises:
        BackendUnavailableError: no installed plugin declares it.
        PluginError: its plugin is broken, or claimed twice.
    """
    try:
        return installation.plugins.backend_spec(backend_id)
    except UnknownPluginError as error:
        installed = ", ".join(error.known) or "none"
        raise BackendUnavailableError(
            backend=backend_id,
            reason=f"no installed plugin declares it (installed: {installed})",
            help=error.help,
        ) from error


def resolve_defaults(
    installation: Installation,
    method: str,
    backend_ids: Iterable[str],
    overrides: Overrides = (),
    *,
    facts: FactSheet | None = None,
) -> Arguments:
    """Arguments from schemas, recommendations and `overrides` alone: no file or variable counts.

    Args:
        installation: What is installed.
        method: The method.
        backend_ids: The backends that it delegates to.
        overrides: Values that go before all others.
        facts: What is known of the device; by default it is looked at, if a schema asks for its facts.

    Raises:
        OptionError: an override is wrong, or an option that is required is not set.
        BackendUnavailableError, PluginError: as for `configure`.
    """
    specs = {backend: find_spec(installation, backend) for backend in backend_ids}
    if facts is None:
        asks = any(
            spec.recommend or any(info.from_fact for info in spec.options.option_infos().values())
            for spec in specs.values()
        )
        facts = installation.detect_facts() if asks else FactSheet.empty()
    target = Target(method=method, backends=tuple(specs))
    layers = (layer_from_overrides(overrides),) if overrides else ()
    return Resolver.compile(specs, layers, (target,)).resolve(facts).arguments(method)


def targets_of_program(program: Delegating, instances: Mapping[str, Sequence[str]]) -> tuple[Target, ...]:
    """Every method of a program, to resolve arguments for.

    Raises:
        MethodNotFoundError: `instances` names a method that the program lacks.
    """
    for method in instances:
        program.backends(method)
    return tuple(
        Target(method=method, backends=program.backends(method), instances=tuple(instances.get(method, ())))
        for method in program.method_names
    )


def _targets_of_layers(
    installation: Installation, layers: Iterable[Layer], instances: Mapping[str, Sequence[str]]
) -> tuple[tuple[Target, ...], Mapping[str, BackendSpec], tuple[Diagnostic, ...]]:
    """What the configuration speaks about: its methods and backends, or else every installed backend."""
    layers = tuple(layers)
    paths = [assignment.path for layer in layers for assignment in layer.assignments]
    methods = {path.method for path in paths if path.method and not set(path.method) & set("*?[")}
    methods |= {declared.method for layer in layers for declared in layer.instances} | set(instances)
    mentioned = {path.backend for path in paths} & set(installation.backend_ids)
    specs: dict[str, BackendSpec] = {}
    warnings: list[Diagnostic] = []
    for backend in sorted(mentioned) or installation.backend_ids:
        try:
            specs[backend] = installation.plugins.backend_spec(backend)
        except PluginError as error:
            if backend in mentioned:
                raise
            warnings.append(plugin_warning(error))
    targets = tuple(
        Target(method=method, backends=tuple(specs), instances=tuple(instances.get(method, ())))
        for method in (ANY_METHOD, *sorted(methods))
    )
    return targets, specs, tuple(warnings)


def plugin_warning(error: PluginError) -> Diagnostic:
    """The warning about a broken plugin that nothing depends on."""
    return Diagnostic(code="broken-plugin", message=error.message, help=error.help, severity=Severity.WARNING)
