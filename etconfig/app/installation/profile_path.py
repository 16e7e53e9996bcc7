"""The directories of profiles that a user names: in a variable, in the project file, or by an argument."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.base.records import record

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic
    from etconfig.profile.profile import Reference

PROFILE_PATH_VARIABLE = "ETCONFIG_PROFILE_PATH"
"""The variable with further directories of profiles, separated as in PATH."""

PROFILE_PATH_KEY = "profile_path"
"""The key of the project file for the same."""


@record(frozen=True)
class NamedDirectory:
    """A directory of profiles that a user named.

    Attributes:
        path: Its path. The project file's are relative to that file, others to the current directory.
        named_by: The variable, the option, or the place in the project file.
        reference: The line of the project file; None if it was named elsewhere.
    """

    path: Path
    named_by: str
    reference: Reference | None = None

    def problem(self) -> Diagnostic | None:
        """Return what is wrong with it, or None."""
        from etconfig.profile.directory import unusable_directory

        message = unusable_directory(self.path, None if self.reference is None else self.reference.target)
        if message is None:
            return None
        from etconfig.diagnostics import Diagnostic

        reference = self.reference
        help = f"correct {PROFILE_PATH_VARIABLE}, or the directory that was named"
        if reference is not None:
            help = f"correct {PROFILE_PATH_KEY}; its paths are relative to the project file"
        return Diagnostic(
            code="unreadable-file",
            message=message,
            spans=() if reference is None else (reference.span,),
            help=help,
        )


def directories_in_variable(text: str) -> Iterator[NamedDirectory]:
    """Yield the directories that `ETCONFIG_PROFILE_PATH` lists."""
    return (NamedDirectory(Path(path), PROFILE_PATH_VARIABLE) for path in text.split(os.pathsep) if path)


def directories_in_project(project: Path, references: Iterable[Reference]) -> Iterator[NamedDirectory]:
    """Yield the directories of `profile_path`, relative to the directory of the project file."""
    for reference in references:
        yield NamedDirectory(project.parent / reference.target, reference.span.place, reference)


def each_once(directories: Iterable[NamedDirectory]) -> tuple[NamedDirectory, ...]:
    """Leave out directories that were named before, perhaps by another path."""
    found: dict[str, NamedDirectory] = {}
    for directory in directories:
        found.setdefault(_real_path(directory.path), directory)
    return tuple(found.values())


def _real_path(path: Path) -> str:
    """Return where the links of a path lead, or the path itself if no file can have it."""
    try:
        return os.path.realpath(path)  # unlike `resolve`, it accepts loops
    except ValueError:  # a null character
        return str(path)
