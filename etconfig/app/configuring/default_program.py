"""The programs and models of the project file, which count where a command is given none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from etconfig.app.configuring.engine_models import models_of_file
from etconfig.app.configuring.project_programs import programs_of_project, unreadable_program
from etconfig.app.configuring.several_programs import SeveralPrograms
from etconfig.app.configuring.targets import Delegating
from etconfig.app.installation.installation import Installation
from etconfig.base.compile_specs import CompileSpecs
from etconfig.base.provenance import Sourced
from etconfig.errors import ProfileError, ProgramError
from etconfig.program.program import Program, open_program
from etconfig.resolver.compiling.program_values import read_program_values
from etconfig.schema.spec import BackendSpec


class OpenedProgram:
    """A program and the installation that configures it.

    Attributes:
        program: The verified file.
        installation: The plugins, profiles and project file.
        numpy_memory: What is known of the memory that methods take on the numpy executor, by name; it grows.
        payloads: What plugins say about the payloads of methods, by name, as `payload_readings` found it.
    """

    def __init__(self, program: Program, installation: Installation) -> None:
        self.program = program
        self.installation = installation
        self.numpy_memory: dict[str, Mapping[str, Any]] = {}
        self.payloads: dict[str, tuple[Any, ...]] = {}

    @property
    def method_names(self) -> tuple[str, ...]:
        """The names of the methods, in the order of the file."""
        return self.program.method_names

    def backends(self, method: str) -> tuple[str, ...]:
        """Return the ids of the backends that a method delegates to, each once, in the order of the file.

        Raises:
            MethodNotFoundError: the program has no such method.
        """
        return tuple(dict.fromkeys(each.id for each in self.program.plan(method).delegates))

    def program_values(self, method: str, spec: BackendSpec) -> Mapping[str, Sourced[object]]:
        """Return the values of a backend's options that the program fixes ahead of time, by name.

        Raises:
            MethodNotFoundError: the program has no such method.
            PluginCallError: the backend cannot read the compile specs.
        """
        delegates = [each for each in self.program.plan(method).delegates if each.id == spec.id]
        compile_specs = [CompileSpecs(each.compile_specs) for each in delegates]
        return read_program_values(spec, compile_specs, self.program.path)


def default_programs(
    installation: Installation, opened: Callable[[Path], Delegating] | None = None
) -> list[Delegating]:
    """Return the programs that the project file names, then its models that engines run, if it has any.

    Args:
        installation: The project file.
        opened: Opens a program.

    Raises:
        ConfigError: the project file is wrong, or names a program that cannot be read.
    """
    found: list[Delegating] = []
    for reference, path in programs_of_project(installation):
        try:
            found.append(_open(installation, path) if opened is None else opened(path))
        except ProgramError as error:
            raise ProfileError(diagnostics=(unreadable_program(reference, error),)) from error
    models = models_of_file(installation)
    return found if models is None else [*found, models]


def program_by_default(installation: Installation) -> Delegating | None:
    """Return the same as one program, opened once for an installation; None if there is nothing.

    Raises:
        ConfigError: as from `default_programs`, or a model has the name of a method.
    """
    return installation.opened_once(_joined)


def _joined(installation: Installation) -> Delegating | None:
    return SeveralPrograms.of(default_programs(installation))


def _open(installation: Installation, path: Path) -> Delegating:
    return OpenedProgram(open_program(path), installation)
