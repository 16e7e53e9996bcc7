"""The programs that a project file names: what configuring needs to know of them, and checks against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from etconfig.app.configuring.targets import Delegating, model_names_of
from etconfig.app.installation.installation import Installation
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError, ProgramError
from etconfig.profile.layer import Layer
from etconfig.profile.library import Provider
from etconfig.profile.profile import Profile, Reference
from etconfig.resolver.deciding.program_check import KnownPrograms, noun_of, verify_against_programs

_THIS = "the program"


@record(frozen=True, kw_only=True)
class ProjectProgram:
    """A program that the project file names.

    Attributes:
        reference: Its path, as the project file has it.
        backends_of: The methods, and the backends that each delegates to; empty if it cannot be read.
        problem: The reason why it cannot be read, or None.
    """

    reference: Reference
    backends_of: Mapping[str, tuple[str, ...]]
    problem: Diagnostic | None = None

    @property
    def name(self) -> str:
        """Its path, as the project file has it."""
        return self.reference.target


def programs_of_project(installation: Installation) -> tuple[tuple[Reference, Path], ...]:
    """Return the programs that the project file names, each with its path.

    Raises:
        DocumentError: the project file cannot be read.
        ProfileError: its list of programs is malformed.
    """
    project = installation.project_path
    if project is None:
        return ()
    return tuple((reference, project.parent / reference.target) for reference in installation.programs)


def read_project_programs(installation: Installation) -> tuple[ProjectProgram, ...]:
    """Read the methods of all programs that the project file names. Raises as `programs_of_project`."""
    return tuple(_read(reference, path) for reference, path in programs_of_project(installation))


def models_of_project(installation: Installation) -> tuple[ProjectProgram, ...]:
    """Return the models of the project file that engines run, as one program; empty if there are none.

    Raises:
        ConfigError: the models cannot be read.
    """
    project = installation.project_path
    if project is None or not installation.may_declare_models:
        return ()
    models = tuple(installation.models.of_engines)
    if not models:
        return ()
    reference = Reference(project.name, lambda: models[0].span)
    backends_of = {model.name: tuple(each.target for each in model.backends) for model in models}
    return (ProjectProgram(reference=reference, backends_of=backends_of),)


def known_in_project(installation: Installation) -> KnownPrograms:
    """Return the methods and models of all programs that the project file names. Raises as the two above."""
    programs, models = read_project_programs(installation), models_of_project(installation)
    every = (*programs, *models)
    return KnownPrograms(
        methods={each.name: each.backends_of for each in every if each.problem is None},
        unread=tuple(each.name for each in every if each.problem is not None),
        noun=noun_of([*(True for _ in models), *(False for _ in programs)]),
    )


def names_in_project(installation: Installation) -> set[str]:
    """Return the methods and models of all programs that the project file names. Raises as the two above."""
    return {*known_in_project(installation).all_methods}


def _read(reference: Reference, path: Path) -> ProjectProgram:
    from etconfig.program.program import Verification, open_program

    try:
        with open_program(path, verification=Verification.Minimal) as program:
            backends_of = {
                name: tuple(dict.fromkeys(delegate.id for delegate in program.plan(name).delegates))
                for name in program.method_names
            }
    except ProgramError as error:
        return ProjectProgram(
            reference=reference, backends_of={}, problem=unreadable_program(reference, error)
        )
    return ProjectProgram(reference=reference, backends_of=backends_of)


def unreadable_program(reference: Reference, error: ProgramError) -> Diagnostic:
    """Return the problem of a project file that names a program which cannot be read."""
    return Diagnostic(
        code="unreadable-file",
        message=f"cannot read the program {reference.target!r}: {error.problem}",
        spans=(reference.span,),
        help="correct the path, which is relative to the project file, or build the program first",
    )


def backends_by_method(program: Delegating) -> dict[str, tuple[str, ...]]:
    """Return the methods of a program, and the backends that each delegates to."""
    return {method: program.backends(method) for method in program.method_names}


def find_unused_settings(
    installation: Installation, program: Delegating, chain: Sequence[Profile], layers: Sequence[Layer]
) -> tuple[Diagnostic, ...]:
    """Return a note for each method or backend in the user's files that this program lacks.

    It reads the programs of the project file only if there is something to say.

    Args:
        installation: The project file, which may name further programs.
        program: The program that is configured.
        chain: The profiles.
        layers: The layers of the profiles and of the project file.

    Raises:
        OptionError: the project file names programs, and neither they nor this one have it.
        ProfileError: its list of programs is malformed.
    """
    methods, installed = backends_by_method(program), installation.backend_ids
    alone, asked = KnownPrograms(methods={_THIS: methods}), [each for each in layers if not each.is_bundled]
    if next(verify_against_programs(asked, alone, installed), None) is None:
        return ()
    models = model_names_of(program)
    project = known_in_project(installation)
    known = replace(
        project,
        methods={_THIS: methods, **project.methods},
        used=_THIS,
        is_complete=bool(installation.programs),
        noun=noun_of(name in models for name in methods),
    )
    of_user = user_layers(installation, chain, layers)
    found = tuple(dict.fromkeys(verify_against_programs(of_user, known, installed)))
    if any(problem.is_error for problem in found):
        raise OptionError(diagnostics=found)
    return found


def user_layers(
    installation: Installation, chain: Sequence[Profile], layers: Sequence[Layer]
) -> tuple[Layer, ...]:
    """Leave out the profiles that come with etconfig or a package: they serve programs of all kinds.

    Args:
        installation: The profiles.
        chain: The profiles of the first layers.
        layers: The layers of these profiles, and the layers of other sources.
    """
    of_user = (
        layer for profile, layer in zip(chain, layers, strict=False) if _is_of_user(installation, profile)
    )
    return (*of_user, *layers[len(chain) :])


def _is_of_user(installation: Installation, profile: Profile) -> bool:
    if profile.path is None:
        return True
    return installation.readable_profiles.find(profile.path).provider is Provider.USER
