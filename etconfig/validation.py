"""Check configuration files: every problem of a file in one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from etconfig.api import (
    AUTO,
    LoadedProgram,
    choose_profile,
    find_spec,
    plugin_warning,
    targets_of_program,
)
from etconfig.diagnostics import Diagnostic
from etconfig.errors import ConfigError, PluginError
from etconfig.facts import FactSheet
from etconfig.installation import PROJECT_FILES, Installation
from etconfig.profile import Layer, Profile, ProjectFile, layers_of, load_chain, load_document, parse_project
from etconfig.resolver import ANY_METHOD, Resolver, Target, verify_against_program
from etconfig.schema import BackendSpec


def validate_file(
    path: Path,
    installation: Installation,
    program: LoadedProgram | None = None,
    facts: FactSheet | None = None,
) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with a profile or a project file.

    A file named `etconfig.toml` or `pyproject.toml` is a project file, any other one a profile.

    Args:
        path: The file.
        installation: The schemas, facts and profiles that it may refer to.
        program: If given, names are checked against it, and its arguments must resolve.
        facts: The device on which they must resolve; by default this one.

    Returns:
        The problems, each once, in the order of their places.
    """
    problems = list(_problems(path, installation, program, facts))
    return tuple(sorted(dict.fromkeys(problems), key=_place))


def _problems(
    path: Path, installation: Installation, program: LoadedProgram | None, facts: FactSheet | None
) -> Iterator[Diagnostic]:
    facts = facts or installation.detect_facts()
    try:
        chain, project = _read(path, installation, facts)
        layers = layers_of(chain, project)
    except ConfigError as error:
        yield from error.diagnostics
        return
    specs, broken = _specs(layers, installation)
    yield from broken
    targets = (Target(method=ANY_METHOD, backends=tuple(specs)),)
    try:
        yield from Resolver.compile(specs, layers, targets, installation.backend_ids).warnings
    except ConfigError as error:
        yield from error.diagnostics
    if program is not None:
        yield from _program_problems(layers, program, facts)


def _read(
    path: Path, installation: Installation, facts: FactSheet
) -> tuple[tuple[Profile, ...], ProjectFile | None]:
    if path.name not in PROJECT_FILES:
        return load_chain(installation.profiles, path), None
    project = parse_project(load_document(path), installation.fact_registry)
    target = project.profile.target if project.profile else AUTO
    return choose_profile(installation, target, facts)[0], project


def _specs(
    layers: Sequence[Layer], installation: Installation
) -> tuple[dict[str, BackendSpec], list[Diagnostic]]:
    """The schemas of the installed backends that the layers mention, and warnings for broken ones."""
    mentioned = {assignment.path.backend for layer in layers for assignment in layer.assignments}
    specs: dict[str, BackendSpec] = {}
    broken: list[Diagnostic] = []
    for backend in sorted(mentioned & set(installation.backend_ids)):
        try:
            specs[backend] = installation.plugins.backend_spec(backend)
        except PluginError as error:
            broken.append(plugin_warning(error))
    return specs, broken


def _program_problems(
    layers: Sequence[Layer], program: LoadedProgram, facts: FactSheet
) -> Iterator[Diagnostic]:
    backends_of = {method: program.backends(method) for method in program.method_names}
    yield from verify_against_program(layers, backends_of)
    needed = sorted({backend for backends in backends_of.values() for backend in backends})
    specs = {backend: find_spec(program.installation, backend) for backend in needed}
    try:
        resolver = Resolver.compile(
            specs, layers, targets_of_program(program, {}), program.installation.backend_ids
        )
        resolver.resolve(facts)
    except ConfigError as error:
        yield from error.diagnostics


def _place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    if not diagnostic.spans:
        return "", 0, 0
    span = diagnostic.spans[0]
    return span.file, span.line, span.column
