"""The targets of a configuration: the methods, instances and backends that need arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Protocol, cast, runtime_checkable

from etconfig.app.installation.installation import Installation
from etconfig.base.packages import BACKEND_PACKAGES, how_to_declare
from etconfig.base.parameters import check_type
from etconfig.base.provenance import Sourced
from etconfig.base.source_characters import find_unprintable
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import BackendUnavailableError, PluginError, UnknownPluginError
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.entry_points import BACKENDS
from etconfig.profile.layer import Layer
from etconfig.profile.names import NAME_RULES, is_name_of
from etconfig.resolver.compiling.resolver import Target
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.schema.spec import BackendSpec

_PROGRAM = "what etconfig.load_program returns"
_PROGRAM_NOT_PATH = f'{_PROGRAM}, or for models of engines models={{"NAME": "BACKEND"}}'


@runtime_checkable
class Delegating(Protocol):
    """The part of a program that configuring needs: the backends that each method delegates to."""

    @property
    def installation(self) -> Installation:
        """The plugins, profiles and project file."""

    @property
    def method_names(self) -> tuple[str, ...]:
        """The methods."""

    def backends(self, method: str) -> tuple[str, ...]:
        """Return the ids of the backends that a method delegates to.

        Raises:
            MethodNotFoundError: the program has no such method.
        """

    def program_values(self, method: str, spec: BackendSpec) -> Mapping[str, Sourced[object]]:
        """Return the values of a backend's options that the program fixes ahead of time, by name.

        Raises:
            PluginCallError: the backend cannot read the compile specs.
        """


def model_names_of(program: Delegating) -> Collection[str]:
    """Return the names of a program's methods that are models, which engines run without a program."""
    names: Collection[str] = getattr(program, "model_names", ())  # of `Models`, and what contains them
    return names


def model_needing(program: Delegating, backend_id: str) -> str:
    """Return the first model that names a backend, with its place in a file; empty if none does."""
    find: Callable[[str], str] | None = getattr(program, "_model_needing", None)  # as for `model_names`
    return "" if find is None else find(backend_id)


_MEMBERS = ("installation", "method_names", "backends", "program_values")
"""The members of `Delegating`."""


def find_installation(installation: Installation | None, program: Delegating | None = None) -> Installation:
    """Return the installation, by default the program's, else what is found from the current directory.

    Raises:
        TypeError: one of the arguments is of a wrong type.
    """
    # `isinstance` looks at each member of a protocol, which takes longer than all else that is checked here
    if program is not None and not all(hasattr(program, name) for name in _MEMBERS):
        is_path = isinstance(program, (str, PurePath))
        check_type("program", program, Delegating, _PROGRAM_NOT_PATH if is_path else _PROGRAM)
    if installation is None:
        return Installation(Path.cwd()) if program is None else program.installation
    check_type("installation", installation, Installation, "an etconfig.Installation")
    return installation


def check_facts(facts: object) -> None:
    """Refuse what is not a fact sheet. Raises TypeError."""
    check_type("facts", facts, FactSheet, "a FactSheet, as etconfig.load_fact_sheet reads it")


def check_instances(instances: object) -> None:
    """Refuse what is not names of instances by method.

    Raises:
        TypeError: it is not a mapping, or not of lists of texts.
        ValueError: a name cannot be an instance's, or two methods have the same.
    """
    expected = 'names by method, as {"forward": ["left", "right"]}'
    check_type("instances", instances, Mapping, expected)
    method_of: dict[str, str] = {}
    for method, names in cast("Mapping[str, Sequence[str]]", instances).items():
        if isinstance(names, str) or not isinstance(names, Collection):
            raise TypeError(f"instances: expected {expected}, given {type(names).__name__} for {method!r}")
        for name in names:
            check_type("instances", name, str, expected)
            if not is_name_of("instance", name):
                raise ValueError(f"instances: {name!r} is not a name; {NAME_RULES['instance']}")
            unseen = find_unprintable(name)
            if unseen is not None:
                raise ValueError(
                    f"instances: the name {name!a} contains the invisible character {unseen}; retype it"
                )
            other = method_of.setdefault(name, method)
            if other != method:
                raise ValueError(
                    f"instances: {name!r} is an instance of {other!r} and of {method!r}; "
                    "give each an instance with a name of its own"
                )


def targets_of_program(program: Delegating, instances: Mapping[str, Sequence[str]]) -> tuple[Target, ...]:
    """Return a target for every method of a program.

    Raises:
        MethodNotFoundError: `instances` names a method that the program does not have.
        ModelError: it names a model that is not there.
    """
    for method in instances:
        program.backends(method)  # raises for an unknown method
    models = model_names_of(program)
    return tuple(
        Target(
            method=method,
            backends=program.backends(method),
            instances=tuple(instances.get(method, ())),
            is_model=method in models,
        )
        for method in program.method_names
    )


def with_program_values(
    targets: Sequence[Target], program: Delegating, specs: Mapping[str, BackendSpec]
) -> tuple[Target, ...]:
    """Return the targets with the values that the program fixes ahead of time.

    Raises:
        PluginCallError: a backend cannot read the compile specs.
    """
    reading = [spec for spec in specs.values() if spec.from_program is not None]
    if not reading:
        return tuple(targets)
    return tuple(
        replace(
            target,
            program={
                spec.id: program.program_values(target.method, spec)
                for spec in reading
                if spec.id in target.backends
            },
        )
        for target in targets
    )


def targets_of_layers(
    installation: Installation, layers: Iterable[Layer], instances: Mapping[str, Sequence[str]]
) -> tuple[tuple[Target, ...], Mapping[str, BackendSpec], tuple[Diagnostic, ...]]:
    """Return the targets without a program: the methods and backends that the layers mention.

    Layers that mention no backend configure all installed ones; bundled profiles do not count. A broken
    plugin is then worth a warning only, the third result: nothing asked for its backend.
    """
    layers = tuple(layers)
    paths = [assignment.path for layer in layers if not layer.is_bundled for assignment in layer.assignments]
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
    """Return the warning about a broken plugin that nothing depends on."""
    return Diagnostic(code="broken-plugin", message=error.message, help=error.help, severity=Severity.WARNING)


def specs_of_program(
    installation: Installation, program: Delegating, backend_ids: Iterable[str]
) -> dict[str, BackendSpec]:
    """Return the declarations of backends that a program needs, or models. Raises as `find_spec`."""
    return {each: find_spec(installation, each, program) for each in backend_ids}


def without_undeclared(
    installation: Installation, targets: Sequence[Target]
) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Return the targets without the delegates that nothing is known of, and the ids of these.

    A backend of etconfig's own packages, or one that is refused here, stays: its error says what to do.
    """
    named = {each for target in targets if not target.is_model for each in target.backends}
    undeclared = sorted(named - set(installation.backend_ids) - BACKEND_PACKAGES.keys())
    undeclared = [each for each in undeclared if not installation.index.explain_refusal(BACKENDS, each)]
    kept = tuple(
        replace(each, backends=tuple(one for one in each.backends if one not in undeclared))
        for each in targets
    )
    return kept, tuple(undeclared)


def undeclared_warning(backend: str) -> Diagnostic:
    """Return the warning about a delegate whose options nothing declares."""
    return Diagnostic(
        code="backend-not-installed",
        message=f"the program delegates to {backend}, which no installed plugin declares: its options are "
        "not resolved",
        help=how_to_declare(backend),
        severity=Severity.WARNING,
    )


def find_spec(installation: Installation, backend_id: str, program: Delegating | None = None) -> BackendSpec:
    """Return the declaration of a backend that a program needs.

    Args:
        installation: The plugins.
        backend_id: The backend.
        program: The program or models that need it; the error names the model, if one does.

    Raises:
        BackendUnavailableError: no installed plugin declares it.
        PluginError: its plugin is broken, or several plugins declare it.
    """
    try:
        return installation.plugins.backend_spec(backend_id)
    except UnknownPluginError as error:
        installed = ", ".join(error.known) or "none"
        needed_by = "" if program is None else model_needing(program, backend_id)
        needs = f"{needed_by} needs it, but " if needed_by else ""
        raise BackendUnavailableError(
            backend=backend_id,
            reason=f"{needs}no installed plugin declares it (installed: {installed})",
            help=error.help if needed_by else _without_guess(error, backend_id),
        ) from error


def _without_guess(error: UnknownPluginError, backend_id: str) -> str | None:
    """Return the help for the id in a program, which nobody has mistyped."""
    is_guess = error.help is not None and error.help.startswith("did you mean")
    return how_to_declare(backend_id) if is_guess else error.help


def options_by_backend(installation: Installation) -> dict[str, tuple[str, ...]]:
    """Return the names of the options of every installed backend; a broken plugin is left out."""
    found: dict[str, tuple[str, ...]] = {}
    for backend in installation.backend_ids:
        try:
            found[backend] = tuple(installation.plugins.backend_spec(backend).options.option_infos())
        except PluginError:
            continue
    return found
