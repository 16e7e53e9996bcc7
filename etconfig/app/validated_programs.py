"""The programs that `validate` compares files with: those that are given, or those of the project file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from etconfig.app.installation import Installation
from etconfig.app.project_programs import programs_of_project, unreadable_program
from etconfig.app.targets import Delegating
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import BackendUnavailableError, ConfigError, ProgramError
from etconfig.parameters import check_type
from etconfig.profile import Reference
from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.app.loaded_program import LoadedProgram


@record(frozen=True, kw_only=True)
class ProjectPrograms:
    """The programs of a project file, as far as they can be read.

    Attributes:
        loaded: Those that can be read, by the paths that the project file has.
        references: The places of these paths.
        unread: The paths of the others.
        problems: The reasons why they cannot be read, or what is wrong with the list.
    """

    loaded: Mapping[str, Delegating] = field(default_factory=dict)
    references: Mapping[str, Reference] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    problems: tuple[Diagnostic, ...] = ()


def load_project_programs(installation: Installation) -> ProjectPrograms:
    """Open and verify the programs that the project file names."""
    try:
        named = programs_of_project(installation)
    except ConfigError as error:
        return ProjectPrograms(problems=error.diagnostics)
    if not named:
        return ProjectPrograms()
    from etconfig.app.api import load_program
    from etconfig.app.executors import NUMPY

    loaded: dict[str, Delegating] = {}
    references: dict[str, Reference] = {}
    unread: dict[str, Diagnostic] = {}
    for reference, path in named:
        references[reference.target] = reference
        try:
            loaded[reference.target] = load_program(path, executor=NUMPY, installation=installation)
        except ProgramError as error:
            unread[reference.target] = unreadable_program(reference, error)
    return ProjectPrograms(
        loaded=loaded, references=references, unread=tuple(unread), problems=tuple(unread.values())
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
    program: LoadedProgram | Iterable[LoadedProgram] | None,
) -> Mapping[str, LoadedProgram] | None:
    """Return the programs by the names that messages use, which are their paths.

    Raises:
        TypeError: one of them is not a program.
    """
    if program is None:
        return None
    expected = "what etconfig.load_program returns, or a list of that"
    check_type("program", program, (Delegating, Iterable), expected)
    programs = [program] if isinstance(program, Delegating) else list(program)
    named: dict[str, LoadedProgram] = {}
    for number, each in enumerate(programs, 1):
        check_type("program", each, Delegating, expected)
        named[each.program.path or f"program {number}"] = each
    return named
