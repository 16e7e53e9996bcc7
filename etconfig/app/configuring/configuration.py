"""Configuration of a program: choose the profile, gather layers and schemas, compile and resolve."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from etconfig.app.configuring.engine_models import BackendsOfModels, Models, with_models
from etconfig.app.configuring.profile_choice import ProfileChoice, choose_profile
from etconfig.app.configuring.project_programs import find_unused_settings, names_in_project
from etconfig.app.configuring.several_programs import programs_in
from etconfig.app.configuring.targets import (
    Delegating,
    check_facts,
    check_instances,
    find_installation,
    options_by_backend,
    specs_of_program,
    targets_of_layers,
    targets_of_program,
    undeclared_warning,
    with_program_values,
    without_undeclared,
)
from etconfig.app.configuring.tuned_models import models_of
from etconfig.app.installation.installation import Installation
from etconfig.app.installation.misspelled_names import misspelled_backends
from etconfig.base.parameters import AnyPath, check_type
from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.errors import OptionError, PluginError
from etconfig.facts.facts_by_hand import FactOverrides, source_facts
from etconfig.facts.sheet import FactSheet
from etconfig.profile.layer import Layer
from etconfig.profile.layers import layers_of
from etconfig.profile.profile import Profile, Reference
from etconfig.profile.selection import Selection
from etconfig.report.model import count_text, shown_text
from etconfig.resolver.compiling.matching import CALL_SOURCE
from etconfig.resolver.compiling.override_forms import Overrides
from etconfig.resolver.compiling.overrides import (
    SET_VARIABLE,
    layer_from_environment,
    layer_from_overrides,
    options_problem,
)
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.arguments import Arguments
from etconfig.resolver.deciding.resolution import Resolution

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    from etconfig.diagnostics import Diagnostic
    from etconfig.resolver.explaining.explanation import Explanation
    from etconfig.resolver.explaining.what_if import WhatIf
    from etconfig.schema.options import BackendOptions

    class CommonSettings(TypedDict, total=False):
        """The keyword parameters that `configure` and `pack_bundle` share."""

        require_match: bool
        fact_overrides: FactOverrides | None
        overrides: Overrides | Layer | None
        instances: Mapping[str, Sequence[str]] | None
        installation: Installation | None

    class Settings(CommonSettings, total=False):
        """The keyword parameters of `configure`, for functions that pass them on."""

        profile: AnyPath | None
        facts: FactSheet | None
        models: Models | BackendsOfModels | AnyPath | None


_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])


@record(frozen=True, kw_only=True)
class Configuration:
    """The configuration of one device: compiled once, and resolved again as its facts change.

    Attributes:
        resolver: The compiled layers and schemas, which do not depend on facts.
        chain: The chosen profile and all that it extends, base first.
        selection: The reasons for that choice, or None if the profile was named.
        named_by: The place in the project file that names the profile, or None if nothing there does.
        facts: The facts at the time, without hand-set ones.
        installation: The plugins, profiles and project file.
        program: The program, or the models; None if options were resolved without any.
    """

    resolver: Resolver
    chain: tuple[Profile, ...]
    selection: Selection | None
    named_by: Reference | None
    facts: FactSheet
    installation: Installation
    program: Delegating | None
    _again: Callable[..., Configuration] = field(compare=False, repr=False)
    _from_files: Callable[..., Configuration] = field(compare=False, repr=False)

    def resolve(self, facts: FactSheet | None = None) -> Resolution:
        """Resolve the arguments on these facts, by default on `Configuration.facts`.

        The chosen profile stays, even if `auto` would choose another one on these facts: see `selected_on`.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> overrides = {"ReferenceCpuBackend.num_threads": 2}
            >>> configuration = etconfig.configure(program, overrides=overrides)
            >>> sheet = etconfig.FactSheet.from_json(Path("pi-5.json").read_text(), "pi-5.json")
            >>> configuration.resolve(sheet).arguments("forward")["ReferenceCpuBackend"].num_threads
            2

        Raises:
            OptionError: an option has no valid value; with every problem of every method instance.
            PluginError: a backend's recommendation failed.
            TypeError: `facts` is not a fact sheet.
        """
        facts = self.facts if facts is None else facts
        check_facts(facts)
        resolution = self.resolver.resolve(facts)
        return replace(
            resolution,
            profile=self.chain[-1].name,
            selection=self.selection,
            named_by=self.named_by,
            evidence=tuple(each.evidence for each in self.chain if each.evidence is not None),
            _again=partial(self._resolve_again, facts),
        )

    def selected_on(self, facts: FactSheet) -> Configuration:
        """Return the configuration with the profile that `auto` selects on these facts.

        It is this one if the profile was named, or if every profile matches or not as before: then no file
        is read.

        Raises:
            ConfigError, PluginError, TypeError: as for `configure`.
        """
        check_facts(facts)
        by_hand = self.resolver.layers[-1].facts
        if self.selection is None or self.selection.stays_on(
            self.installation.known_facts(facts, by_hand).values
        ):
            return self
        return self.on_device(facts)

    def on_device(self, facts: FactSheet, fact_overrides: FactOverrides | None = None) -> Configuration:
        """Return the configuration with the same arguments for another device; `auto` selects again on it.

        Args:
            facts: The device.
            fact_overrides: Facts set by hand beside the facts of this configuration, over which they win.

        Raises:
            ConfigError, PluginError, TypeError: as for `configure`.
        """
        check_facts(facts)
        by_hand = source_facts(fact_overrides, facts.registry)
        return self._again(facts=facts, fact_overrides={**self.resolver.layers[-1].facts, **by_hand})

    def reloaded(self, facts: FactSheet | None = None) -> Configuration:
        """Return the configuration from profiles and the project file as they are now.

        The programs and models of the project file, and a file of models, are read again, too. A program
        that was loaded and everything else that was given in code stay.

        Args:
            facts: The device; by default `Configuration.facts`.

        Raises:
            ConfigError, PluginError, TypeError: as for `configure`.
        """
        facts = self.facts if facts is None else facts
        check_facts(facts)
        by_hand = self.resolver.layers[-1].facts
        installation = self.installation.refreshed()
        return self._from_files(facts=facts, fact_overrides=by_hand, installation=installation)

    def explain(self, path: str) -> Explanation:
        """Do the same as `Resolution.explain`, on the facts of this configuration."""
        return self.resolve().explain(path)

    def what_if(self, facts: FactOverrides) -> WhatIf[Resolution]:
        """Do the same as `Resolution.what_if`, on the facts of this configuration."""
        return self.resolve().what_if(facts)

    def __repr__(self) -> str:
        profiles = " < ".join(shown_text(profile.name) for profile in reversed(self.chain))
        count = count_text(len(self.resolver.instances), "method instance")
        return f"<Configuration: profile {profiles}; {count}>"

    def _resolve_again(self, facts: FactSheet, fact_overrides: FactOverrides) -> Resolution:
        return self.on_device(facts, fact_overrides).resolve()


def configure(
    program: Delegating | None = None,
    *,
    profile: AnyPath | None = None,
    require_match: bool = False,
    facts: FactSheet | None = None,
    fact_overrides: FactOverrides | None = None,
    overrides: Overrides | Layer | None = None,
    instances: Mapping[str, Sequence[str]] | None = None,
    installation: Installation | None = None,
    models: Models | BackendsOfModels | AnyPath | None = None,
) -> Configuration:
    """Choose the profile, read all layers, and compile them for `Configuration.resolve`.

    Example:
        >>> program = etconfig.load_program("model.pte")
        >>> configuration = etconfig.configure(program, profile="generic/any")
        >>> [profile.name for profile in configuration.chain]
        ['generic/any']
        >>> facts = {"cpu.available_cores": 3}
        >>> configuration = etconfig.configure(program, profile="generic/any", fact_overrides=facts)
        >>> configuration.explain("forward:ReferenceCpuBackend.num_threads").value
        3

    Args:
        program: The program that `load_program` returned. Without one, and without `models`, options are
            resolved for the programs of the project file and its models that engines run. If it has none,
            they are for the methods and backends that the configuration mentions, and for any other method
            under the name `*`.
        profile: `auto`, the name of a profile, or the path of a TOML file. By default the choice of
            the project file, else `auto`: the profile that matches the device best.
        require_match: Refuse `generic/any` if `auto` finds no other profile for the device. By default,
            the project file decides; without its `require_match = true`, the fallback is a note among
            `Resolution.warnings`.
        facts: The device, such as `load_fact_sheet` reads it; by default this one, detected now.
        fact_overrides: Facts set by hand, by name: `{"power.source": "battery"}`. They win over facts of
            profiles and the project file.
        overrides: Options that win over all others: values by option path, as
            `{"forward@left:XnnpackBackend.num_threads": 2}`; nested by backend, as
            `{"XnnpackBackend": {"num_threads": 2}}`, or by method and backend; an options object, alone or
            in place of a table, of which the fields count that its constructor was given; or a list of
            texts, as `["XnnpackBackend.num_threads=2"]`, and of options objects.
        instances: Names of instances by method, such as `{"forward": ["left", "right"]}`, besides
            the instances of profiles.
        installation: Plugins, profiles and project file; by default the program's, else those found
            from the current directory.
        models: Models that engines run without a program, with the id of the backend of each:
            `{"detector": "OnnxRuntimeBackend"}`, or a list of ids; or a file of models. Their names take the
            place of methods. By default, the models of the project file if no program is given.

    Returns:
        The configuration; `Configuration.resolve` gives its arguments on any facts.

    Raises:
        ConfigError: the configuration is wrong, with every problem that was found.
        BackendUnavailableError: the program delegates to a backend that is not installed.
        PluginError: a plugin that is needed is broken.
        TypeError: an argument is of a wrong type.
        ValueError: `instances` has a name that cannot be an instance's, or `models` one that cannot be a
            model's.
    """
    given = program
    if models is not None:
        program = with_models(program, models, installation)
    installation = find_installation(installation, program)
    if program is None and installation.may_name_targets:
        from etconfig.app.configuring.default_program import (
            program_by_default,  # reads programs, which few commands need
        )

        program = program_by_default(installation)
    if facts is not None:
        check_facts(facts)
    if instances is not None:
        check_instances(instances)
    check_type("require_match", require_match, bool, "True or False")
    facts = installation.detect_facts() if facts is None else facts
    by_hand = Layer(
        kind=OriginKind.OVERRIDE,
        name="fact_overrides",
        facts=source_facts(fact_overrides, facts.registry),
    )
    known = installation.known_facts(facts, by_hand.facts)
    concerns = models_of(partial(programs_in, program))
    choice = choose_profile(installation, profile, known, require_match=require_match, concerns=concerns)
    resolver = _compile(installation, program, choice, overrides, by_hand, instances or {})
    misspelled = misspelled_backends(known, installation.backend_ids)
    resolver = replace(resolver, warnings=(*misspelled, *resolver.warnings))
    again = partial(
        configure,
        profile=profile,
        require_match=require_match,
        overrides=resolver.layers[-2],
        instances=instances,
    )
    return Configuration(
        resolver=resolver,
        chain=choice.chain,
        selection=choice.selection,
        named_by=choice.named_by,
        facts=facts,
        installation=installation,
        program=program,
        _again=partial(again, program, installation=installation),
        _from_files=partial(again, given, models=models),
    )


def _compile(
    installation: Installation,
    program: Delegating | None,
    choice: ProfileChoice,
    overrides: Overrides | Layer | None,
    by_hand: Layer,
    instances: Mapping[str, Sequence[str]],
) -> Resolver:
    """Compile all layers."""
    known_options = partial(options_by_backend, installation)
    set_by_hand = override_layer(installation, overrides)
    environment = layer_from_environment(installation.environ.get(SET_VARIABLE, ""), known_options)
    of_files = layers_of(choice.chain, installation.project)
    layers = (*of_files, environment, set_by_hand, by_hand)
    warnings: Sequence[Diagnostic] = ()
    undeclared: Sequence[str] = ()
    if program is None:
        targets, specs, warnings = targets_of_layers(installation, layers, instances)
    else:
        targets, undeclared = without_undeclared(installation, targets_of_program(program, instances))
        specs = specs_of_program(installation, program, (b for each in targets for b in each.backends))
        targets = with_program_values(targets, program, specs)
        unused = find_unused_settings(installation, program, choice.chain, of_files)
        warnings = (*map(undeclared_warning, undeclared), *unused)
    resolver = Resolver.compile(
        specs,
        layers,
        targets,
        installation.backend_ids,
        installation.advice,
        undeclared=undeclared,
        elsewhere=partial(names_in_project, installation),
    )
    notes = (*installation.project_warnings, *choice.notes)
    if installation.index.given:
        from etconfig.app.installation.undeclared import undeclared_notes  # imports pydantic

        notes += undeclared_notes(specs.values())
    return replace(resolver, warnings=(*notes, *resolver.warnings, *warnings))


def override_layer(installation: Installation, overrides: Overrides | Layer | None) -> Layer:
    """Return the layer of overrides, in whatever form they are given. Raises as `layer_from_overrides`."""
    if isinstance(overrides, Layer):
        return overrides
    if overrides is None:
        return Layer(kind=OriginKind.OVERRIDE, name=CALL_SOURCE)

    def find_backend(options: type[BackendOptions]) -> str:
        found = [
            backend for backend in installation.backend_ids if _has_options(installation, backend, options)
        ]
        if len(found) != 1:
            raise OptionError(diagnostics=(options_problem(options, found),))
        return found[0]

    backends = installation.backend_ids
    known_options = partial(options_by_backend, installation)
    return layer_from_overrides(
        overrides, backends=backends, find_backend=find_backend, known_options=known_options
    )


def _has_options(installation: Installation, backend: str, options: type[BackendOptions]) -> bool:
    try:
        return installation.plugins.backend_spec(backend).options is options
    except PluginError:  # a broken plugin has made no options object either
        return False


def documented_like(documented: Callable[..., Any]) -> Callable[[_FunctionT], _FunctionT]:
    """Give a function the parameters of another one to which it passes them on, and its `Args`.

    `help` then explains every parameter for both, while names, types and text exist once.
    """

    def complete(function: _FunctionT) -> _FunctionT:
        called: Any = vars(function)["__init__"] if isinstance(function, type) else function
        own, passed_on = signature(called), signature(documented).parameters
        named = {each.name: each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD}
        first = {name: each for name, each in named.items() if each.kind is not each.KEYWORD_ONLY}
        called.__signature__ = own.replace(parameters=[*{**first, **passed_on, **named}.values()])
        if function.__doc__ and documented.__doc__:  # `python -OO` leaves none
            section = documented.__doc__.partition("Args:")[2].partition("Returns:")[0].rstrip()
            function.__doc__ = function.__doc__.replace("Args: as for `configure`.", f"Args:{section}")
        return function

    return complete


@documented_like(configure)
def resolve(program: Delegating | None = None, **settings: Unpack[Settings]) -> Resolution:
    """Resolve the arguments of every method, instance and backend, once.

    For a device whose facts change, call `configure` once and `Configuration.resolve` again and again.

    Example:
        >>> program = etconfig.load_program("model.pte")
        >>> resolution = etconfig.resolve(program, overrides={"ReferenceCpuBackend.num_threads": 2})
        >>> resolution.arguments("forward")["ReferenceCpuBackend"].num_threads
        2

    Args: as for `configure`.

    Returns:
        The arguments, with the origin of every value.

    Raises:
        ConfigError: the configuration is wrong, with every problem that was found.
        BackendUnavailableError: the program delegates to a backend that is not installed.
        PluginError: a plugin that is needed is broken, or a backend's recommendation failed.
        TypeError: an argument is of a wrong type.
        ValueError: as for `configure`.
    """
    return configure(program, **settings).resolve()


def resolve_defaults(
    program: Delegating,
    method: str,
    overrides: Overrides | None = None,
    *,
    facts: FactSheet | None = None,
) -> Arguments:
    """Resolve arguments from schemas, program, recommendations and `overrides`, without files or variables.

    Args:
        program: The program.
        method: The method.
        overrides: Values that win over all others.
        facts: The device; by default its facts are detected if a schema reads any.

    Raises:
        OptionError: an override is wrong, or an option that is required is not set.
        BackendUnavailableError, PluginError: as for `configure`.
    """
    installation, backend_ids = program.installation, program.backends(method)
    specs = specs_of_program(installation, program, backend_ids)
    if facts is None:
        reads_facts = any(
            spec.recommend
            or spec.advice
            or any(info.from_fact for info in spec.options.option_infos().values())
            for spec in specs.values()
        )
        facts = installation.detect_facts() if reads_facts else FactSheet.empty()
    targets = with_program_values((Target(method=method, backends=tuple(specs)),), program, specs)
    layers = (override_layer(installation, overrides),)
    resolver = Resolver.compile(specs, layers, targets, advice=installation.advice)
    return resolver.resolve(facts).arguments(method)
