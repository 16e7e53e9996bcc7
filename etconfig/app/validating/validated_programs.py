"""The programs that `validate` compares files with: the given ones, or the project file's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from etconfig.app.configuring.engine_models import Models
from etconfig.app.configuring.project_programs import (
    backends_by_method,
    models_of_project,
    programs_of_project,
    unreadable_program,
)
from etconfig.app.configuring.targets import Delegating, model_names_of
from etconfig.app.installation.installation import Installation
from etconfig.base.packages import how_to_declare
from etconfig.base.parameters import check_type
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity, guessed_fix, nearest_backend
from etconfig.errors import BackendUnavailableError, ConfigError, ProgramError
from etconfig.profile.profile import Reference
from etconfig.resolver.deciding.program_check import KnownPrograms, noun_of

if TYPE_CHECKING:
    from etconfig.models.catalog import ModelCatalog


@record(frozen=True, kw_only=True)
class FoundPrograms:
    """The programs that files are for: the given ones, or the programs of the project file.

    Attributes:
        loaded: Those that can be read, by the names that messages use: the paths in the project file.
        references: The places of these paths.
        unread: The paths of the others.
        problems: The reasons why they cannot be read, or what is wrong with the list.
    """

    loaded: Mapping[str, Delegating] = field(default_factory=dict)
    references: Mapping[str, Reference] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    problems: tuple[Diagnostic, ...] = ()

    @cached_property
    def known(self) -> KnownPrograms:
        """The names that these programs have."""
        programs = self.loaded
        return KnownPrograms(
            methods={name: backends_by_method(program) for name, program in programs.items()},
            unread=self.unread,
            noun=noun_of(name in model_names_of(p) for p in programs.values() for name in p.method_names),
        )


def load_project_programs(installation: Installation) -> FoundPrograms:
    """Open and verify the programs that the project file names."""
    try:
        named = programs_of_project(installation)
    except ConfigError as error:
        return FoundPrograms(problems=error.diagnostics)
    models = _models_of_project(installation)
    if not named:
        return models
    from etconfig.app.programs.api import load_program
    from etconfig.app.programs.executors import NUMPY

    loaded = {**models.loaded}
    references = {**models.references}
    unread: dict[str, Diagnostic] = {}
    for reference, path in named:
        references[reference.target] = reference
        try:
            loaded[reference.target] = load_program(path, executor=NUMPY, installation=installation)
        except ProgramError as error:
            unread[reference.target] = unreadable_program(reference, error)
    return FoundPrograms(
        loaded=loaded, references=references, unread=tuple(unread), problems=tuple(unread.values())
    )


class _CheckableModels(Models):
    """Models, each with the installed backends among its own."""

    def backends(self, method: str) -> tuple[str, ...]:
        installed = self.installation.backend_ids
        return tuple(backend for backend in super().backends(method) if backend in installed)


def _models_of_project(installation: Installation) -> FoundPrograms:
    """Return the models of the project file that engines run, those whose backends are installed."""
    try:
        found = models_of_project(installation)
    except ConfigError:  # reported with the rest of the project file
        return FoundPrograms()
    loaded = {each.name: _CheckableModels(each.backends_of, installation) for each in found}
    for models in loaded.values():
        named = ((model.name, model.path) for model in installation.models.of_engines)
        models.files = {name: path for name, path in named if path is not None and path.is_file()}
    return FoundPrograms(loaded=loaded, references={each.name: each.reference for each in found})


def engine_problems(catalog: ModelCatalog, installed: Collection[str]) -> Iterator[Diagnostic]:
    """Yield a problem for each backend of a model that no installed plugin declares."""
    for model in catalog.of_engines:
        for reference in model.backends:
            if reference.target not in installed:
                yield _not_installed(model.name, reference, installed)


def _not_installed(model: str, reference: Reference, installed: Collection[str]) -> Diagnostic:
    backend = reference.target
    guess = nearest_backend(backend, installed)
    known = ", ".join(sorted(installed)) or "none"
    return Diagnostic(
        code="unknown-backend" if guess else "backend-not-installed",
        message=f"model {model!r}: no installed plugin declares the backend {backend!r}",
        spans=(reference.span,),
        notes=(f"installed: {known}",),
        help=f"did you mean {guess!r}?" if guess else how_to_declare(backend),
        severity=Severity.ERROR if guess else Severity.WARNING,
        fix=guessed_fix(backend, guess, installed, reference.span),
    )


def unchecked_program(reference: Reference, error: BackendUnavailableError) -> Diagnostic:
    """Return the warning about a program of the project file whose backend is not installed here."""
    needed = f"{reference.target} needs {error.backend}, but {error.reason}"
    return Diagnostic(
        code="backend-not-installed",
        message=f"{needed}; its arguments are not checked",
        spans=(reference.span,),
        help=error.help,
        severity=Severity.WARNING,
    )


def programs_by_name(
    program: Delegating | Iterable[Delegating] | None,
) -> Mapping[str, Delegating] | None:
    """Return the programs by the names that messages use, which are their paths if they have one.

    Raises:
        TypeError: one of them is not a program.
    """
    if program is None:
        return None
    expected = "what etconfig.load_program returns, or a list of that"
    check_type("program", program, (Delegating, Iterable), expected)
    programs = [program] if isinstance(program, Delegating) else list(program)
    named: dict[str, Delegating] = {}
    for number, each in enumerate(programs, 1):
        check_type("program", each, Delegating, expected)
        path = getattr(getattr(each, "program", each), "path", None)
        named[path or f"{'models' if model_names_of(each) else 'program'} {number}"] = each
    return named
