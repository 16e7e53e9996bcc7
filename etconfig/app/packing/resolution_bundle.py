"""`pack_resolutions`: arguments that were resolved for known devices, as one bundle without conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from etconfig.app.configuring.targets import find_installation
from etconfig.app.installation.installation import Installation
from etconfig.app.packing.model_content import bundled_models
from etconfig.base.parameters import check_type
from etconfig.base.version import __version__
from etconfig.device.compiling.compilation import compile_bundle
from etconfig.device.compiling.content import BundleContent
from etconfig.device.compiling.resolved_profile import resolved_profile
from etconfig.device.deciding.bundle_fingerprints import wrong_fingerprints
from etconfig.device.deciding.configurations import PackedConfiguration
from etconfig.device.device_bundle import DeviceBundle
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import OptionError
from etconfig.facts.facts_by_hand import FactOverrides, source_facts
from etconfig.profile.library import Provider
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.wire.runtime_limits import EXECUTORCH, THREAD_POOL_OPTIONS

PRODUCER = f"etconfig {__version__}"
"""The program that writes bundles and code, as their first line names it."""

_EXPECTED = "resolutions by name, as etconfig.resolve returns them"


def pack_resolutions(
    resolutions: Mapping[str, Resolution],
    *,
    installation: Installation | None = None,
    fact_overrides: FactOverrides | None = None,
) -> DeviceBundle:
    """Pack resolved arguments into a bundle, from which a program takes a device's arguments by name.

    Nothing in it depends on facts, except the models of the project file: these keep their conditions, since
    nobody but the device knows the backends of its runtime.

    Example:
        >>> program = etconfig.load_program("model.pte")
        >>> pi5 = etconfig.load_fact_sheet("pi-5.json")
        >>> bundle = etconfig.pack_resolutions({"pi5": etconfig.resolve(program, facts=pi5)})
        >>> bundle.resolve().value("forward", "ReferenceCpuBackend", "num_threads")
        4

    Args:
        resolutions: The arguments of each device, under the name by which it selects them. If there is only
            one, devices use it without selecting.
        installation: The project file, whose models are packed, too; by default the one found from the
            current directory.
        fact_overrides: Facts that are set by hand for the conditions of these models.

    Raises:
        OptionError: the format cannot carry a value.
        ModelError, ProgramError: a program of a model cannot be read or lacks its data.
        TypeError: an argument is of a wrong type.
        ValueError: there are no resolutions, or two have different versions of one backend.
    """
    _check(resolutions)
    installation = find_installation(installation, None)
    directory = _directory(installation)
    by_hand = source_facts(fact_overrides, installation.fact_registry)
    content = BundleContent(
        producer=PRODUCER,
        registry=installation.fact_registry,
        profiles=tuple(resolved_profile(name, each) for name, each in resolutions.items()),
        project_facts={**installation.project_facts, **by_hand},
        named=next(iter(resolutions)) if len(resolutions) == 1 else None,
        models=bundled_models(installation, directory),
        directory=directory,
        packages=package_directories(installation),
    )
    return _compiled(content)


def packed_resolution(name: str, resolution: Resolution, installation: Installation) -> PackedConfiguration:
    """Return a resolution as plain data under a name, as a bundle has it.

    Raises:
        OptionError: the format cannot carry a value.
    """
    content = BundleContent(
        producer=PRODUCER,
        registry=installation.fact_registry,
        profiles=(resolved_profile(name, resolution),),
        project_facts={},
        directory=_directory(installation),
        packages=package_directories(installation),
    )
    return _compiled(content).configuration(name)


def package_directories(installation: Installation) -> Mapping[Path, str]:
    """Return the directories of the profiles that were installed, each with the name of its package.

    They lie elsewhere on every machine, and a bundle must not depend on it.
    """
    sources = installation.readable_profiles.sources
    return {each.directory: each.name for each in sources if each.provider is not Provider.USER}


def _directory(installation: Installation) -> Path | None:
    project = installation.project
    return None if project is None else Path(project.name).absolute().parent


def _compiled(content: BundleContent) -> DeviceBundle:
    """Return the bundle of resolved configurations.

    Raises:
        OptionError: the format cannot carry a value, or a device would not reproduce it, such as a table that
            lacks a key of its default.
    """
    tables = compile_bundle(content)
    found = tuple(
        Diagnostic(code="cannot-carry", message=f"a bundle cannot carry this configuration: {problem}")
        for problem in wrong_fingerprints(tables)
    )
    if found:
        raise OptionError(diagnostics=found)
    return DeviceBundle(tables)


def _check(resolutions: object) -> None:
    check_type("resolutions", resolutions, Mapping, _EXPECTED)
    assert isinstance(resolutions, Mapping)
    if not resolutions:
        raise ValueError("resolutions: expected at least one, given none")
    classes: dict[str, type] = {}
    for name, resolution in resolutions.items():
        check_type("resolutions", name, str, _EXPECTED)
        check_type("resolutions", resolution, Resolution, _EXPECTED)
        for arguments in resolution:
            for backend, resolved in arguments.backends.items():
                class_ = type(resolved.options)
                if classes.setdefault(backend, class_) is not class_:
                    raise ValueError(f"resolutions: {name!r} has other options for {backend} than the others")


def notes_beside_the_map(configurations: Iterable[PackedConfiguration]) -> list[Diagnostic]:
    """Return a note for each option that a user set and that `device_executorch.h` cannot pass on."""
    notes = {}
    for configuration in configurations:
        for method in configuration.methods:
            for backend, option in method.options():
                obstacle = option.obstacle(EXECUTORCH)
                is_called = (backend, option.name) in THREAD_POOL_OPTIONS
                if option.is_set and option.value is not None and obstacle is not None and not is_called:
                    notes[backend, option.name] = _note(f"{backend}.{option.name}", obstacle)
    return list(notes.values())


def _note(option: str, obstacle: str) -> Diagnostic:
    return Diagnostic(
        code="cannot-carry",
        severity=Severity.NOTE,
        message=f"{EXECUTORCH.name} cannot carry {option}: {obstacle}",
        help="the bundle has it: let the application read it there and apply it",
    )
