"""`pack_bundle`: profiles, schemas and models of an installation as one bundle for devices."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING

from etconfig.app.configuring.configuration import Configuration, configure, documented_like
from etconfig.app.configuring.default_program import OpenedProgram
from etconfig.app.configuring.profile_choice import AUTO, named_profile
from etconfig.app.configuring.several_programs import SeveralPrograms, programs_in
from etconfig.app.configuring.targets import Delegating, find_installation
from etconfig.app.configuring.tuned_models import models_in_use
from etconfig.app.installation.installation import Installation
from etconfig.app.packing.bundle_checks import bundle_problems
from etconfig.app.packing.model_content import bundled_models, fitting_programs
from etconfig.app.packing.resolution_bundle import PRODUCER, package_directories
from etconfig.base.parameters import AnyPath, as_path, check_type
from etconfig.base.provenance import Sourced
from etconfig.base.records import record
from etconfig.device.compiling.compilation import compile_bundle
from etconfig.device.compiling.content import BundleContent, BundledModel, BundledProfile
from etconfig.device.device_bundle import DeviceBundle
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import OptionError, ProfileError
from etconfig.facts.facts_by_hand import FactOverrides, source_facts
from etconfig.facts.sheet import FactSheet
from etconfig.profile.selector import ConcernsModel

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from etconfig.app.configuring.configuration import CommonSettings
    from etconfig.profile.layer import Layer
    from etconfig.resolver.compiling.override_forms import Overrides

    class PackSettings(CommonSettings, total=False):
        """The keyword parameters of `pack_bundle`."""

        profiles: Sequence[AnyPath] | None
        strict: bool
        with_memory: bool


_EXPECTED = "a list of names of profiles and of paths, each as str or pathlib.Path"


@record(frozen=True, kw_only=True)
class PackedBundle:
    """A bundle, and what its user should know.

    Attributes:
        bundle: The bundle.
        warnings: The problems that do not stop the work.
    """

    bundle: DeviceBundle
    warnings: tuple[Diagnostic, ...]


def make_bundle(
    programs: Delegating | Iterable[Delegating] = (),
    *,
    profiles: Sequence[AnyPath] | None = None,
    require_match: bool = False,
    fact_overrides: FactOverrides | None = None,
    overrides: Overrides | Layer | None = None,
    instances: Mapping[str, Sequence[str]] | None = None,
    strict: bool = False,
    with_memory: bool = False,
    installation: Installation | None = None,
) -> PackedBundle:
    """Do the same as `pack_bundle`, and return the warnings, too. Raises as `pack_bundle`."""
    given = (programs,) if isinstance(programs, Delegating) else tuple(programs)
    check_type("require_match", require_match, bool, "True or False")
    check_type("strict", strict, bool, "True or False")
    check_type("with_memory", with_memory, bool, "True or False")
    installation = find_installation(installation, given[0] if given else None)
    by_hand = source_facts(fact_overrides, installation.fact_registry)
    program = SeveralPrograms.of(given)
    concerns = models_in_use(installation, program)
    named, targets = _chosen_profiles(installation, profiles, concerns)
    configurations: dict[str | Path, Configuration] = {
        target: configure(
            program,
            profile=target,
            facts=FactSheet.empty(installation.fact_registry),
            fact_overrides=by_hand,
            overrides=overrides,
            instances=instances,
            installation=installation,
        )
        for target in targets
    }
    _check_names(configurations.values())
    problems = bundle_problems(configurations.values(), installation.fact_registry, strict=strict)
    errors = tuple(each for each in problems if each.is_error)
    if errors:
        raise OptionError(diagnostics=errors)
    project = installation.project
    directory = None if project is None else Path(project.name).absolute().parent
    models = _models(installation, given if with_memory else (), directory)
    content = BundleContent(
        producer=PRODUCER,
        registry=installation.fact_registry,
        profiles=tuple(_profile(installation, *each) for each in configurations.items()),
        project_facts={**installation.project_facts, **by_hand},
        named=configurations[targets[0]].chain[-1].name if named else None,
        require_match=require_match or (project is not None and project.require_match),
        models=models,
        directory=directory,
        packages=package_directories(installation),
        sources=_sources(installation, configurations.values()),
    )
    warnings = [w for each in configurations.values() for w in each.resolver.warnings]
    if not named:
        warnings += _tuned_for_one(configurations.values(), concerns)
    return PackedBundle(
        bundle=DeviceBundle(compile_bundle(content)), warnings=tuple(dict.fromkeys((*warnings, *problems)))
    )


def _sources(installation: Installation, configurations: Iterable[Configuration]) -> str:
    """Return the SHA-256 of the values of the project file and of every profile."""
    project = installation.project
    profiles = {each.name: each.values for found in configurations for each in found.chain}
    values = ({} if project is None else project.values, profiles)
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def _models(
    installation: Installation, programs: Iterable[Delegating], directory: Path | None
) -> tuple[BundledModel, ...]:
    """Return the models of the project, and each program that is none of them."""
    models = bundled_models(installation, directory)
    opened = [each for each in programs if isinstance(each, OpenedProgram)]
    known = {each.name for each in models}
    return models + tuple(each for each in fitting_programs(opened, directory) if each.name not in known)


@documented_like(make_bundle)
def pack_bundle(
    programs: Delegating | Iterable[Delegating] = (), **settings: Unpack[PackSettings]
) -> DeviceBundle:
    """Pack profiles into a bundle, from which a device selects and resolves without Python.

    Refused are an option whose value may leave its bounds, conditions that combine to something that a
    backend refuses, and what the format cannot carry; docs/bundle.md lists what may still fail.

    Example:
        >>> program = etconfig.load_program("model.pte")
        >>> bundle = etconfig.pack_bundle(program, profiles=["generic/any"])
        >>> bundle.facts_read
        ('cpu.available_cores', 'cpu.cache.l2')

    Args:
        programs: The program or programs that the options are for; without one, the programs that `configure`
            uses by default.
        profiles: The names or paths of profiles; by default the profile that the project file names, else
            every profile that can be selected. If it is a single one, devices use it without selecting.
        require_match: Let devices refuse `generic/any` if no other profile matches.
        fact_overrides: Facts set by hand, by name; they win over the facts of the device.
        overrides: Options that win over all others, as for `resolve`.
        instances: Names of instances by method, besides the instances of profiles.
        strict: Refuse backends whose recommendation is a function, which a device cannot call. By default
            these options keep their default on the device.
        with_memory: Let devices ask whether each program fits into their memory: as a model with the name
            of its file.
        installation: Plugins, profiles and project file; by default the program's, else those found from
            the current directory.

    Returns:
        The bundle; `DeviceBundle.save` writes it.

    Raises:
        ConfigError: the configuration is wrong or may fail on some device, with every problem.
        BackendUnavailableError: a program delegates to a backend that is not installed.
        PluginError: a plugin that is needed is broken.
        TypeError: an argument is of a wrong type.
        ValueError: `profiles` is empty, or has `auto` and others.
    """
    return make_bundle(programs, **settings).bundle


def _chosen_profiles(
    installation: Installation, profiles: Sequence[AnyPath] | None, concerns: ConcernsModel
) -> tuple[bool, Sequence[str | Path]]:
    """Return whether devices use the only profile without selecting, and the names or paths of all.

    Raises:
        ConfigError: the profiles cannot be listed, or one cannot be read, which might be the right one.
        TypeError: `profiles` is not a list of names and paths.
        ValueError: it is empty, or has `auto` and others.
    """
    if isinstance(profiles, (str, bytes)) or not isinstance(profiles, (Sequence, NoneType)):
        raise TypeError(f"profiles: expected {_EXPECTED}, given one {type(profiles).__name__}")
    project = installation.project
    if profiles is None and project is not None and project.profile is not None:
        profiles = [named_profile(project, project.profile)]
    if profiles is None:
        return False, [*installation.selector.for_models(concerns).conditions]
    written = [each if isinstance(each, str) else as_path("profiles", each, _EXPECTED) for each in profiles]
    named = {str(each): each for each in reversed(written)}  # "a.toml" and Path("a.toml") are one file
    named = {key: named[key] for key in dict.fromkeys(map(str, written))}
    if not named:
        raise ValueError("profiles: expected at least one, given none; leave it out to pack all")
    if AUTO not in named:
        return len(named) == 1, [*named.values()]
    if len(named) > 1:
        raise ValueError("profiles: 'auto' stands for every profile that can be selected; give it alone")
    return False, [*installation.selector.for_models(concerns).conditions]


def _check_names(configurations: Iterable[Configuration]) -> None:
    names: set[str] = set()
    for configuration in configurations:
        name = configuration.chain[-1].name
        if name in names:
            message = f"two profiles of the bundle are called {name!r}"
            problem = Diagnostic(code="duplicate-profile", message=message, help="rename one of them")
            raise ProfileError(diagnostics=(problem,))
        names.add(name)


def _tuned_for_one(configurations: Iterable[Configuration], concerns: ConcernsModel) -> Iterator[Diagnostic]:
    """Yield a warning for each tuned profile of a bundle that is not for its model alone."""
    for each in configurations:
        tuned = each.chain[-1]
        if tuned.evidence is None or tuned.evidence.rollout is not None:
            continue
        is_known = concerns(tuned.evidence) is not None
        if not is_known or len(programs_in(each.program)) > 1:
            yield Diagnostic(
                code="stale-evidence",
                message=f"profile {tuned.name!r} was tuned for one model; devices select it for "
                f"{'every model of the bundle' if is_known else 'any, as the models file has no file of it'}",
                spans=(tuned.evidence.find_span(),),
                help="pack a bundle for each program, or name the profile with --profile",
                severity=Severity.WARNING,
            )


def _profile(installation: Installation, target: str | Path, configuration: Configuration) -> BundledProfile:
    chain = configuration.chain
    facts: dict[str, Sourced[object]] = {}
    for layer in configuration.resolver.layers:
        facts |= layer.facts
    return BundledProfile(
        name=chain[-1].name,
        bases=tuple(profile.name for profile in chain[:-1]),
        match=chain[-1].match,
        provider=installation.profiles.find(target).provider,
        facts=facts,
        instances=configuration.resolver.instances,
    )
