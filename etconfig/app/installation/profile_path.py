"""The directories of profiles: the user's, and one below the home directory."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.app.installation.project_location import may_exist
from etconfig.base.records import record

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic
    from etconfig.plugin import PluginFailure
    from etconfig.profile.profile import Reference


PROFILE_PATH_VARIABLE = "ETCONFIG_PROFILE_PATH"
"""The variable with further directories of profiles, separated as in PATH."""

PROFILE_PATH_KEY = "profile_path"
"""The key of the project file for the same."""

_IS_LINUX = sys.platform == "linux"


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


def unusable_directory(directory: Path, written: str | None = None) -> str | None:
    """Return why a directory of profiles cannot be used, in a sentence, or None if it exists.

    Args:
        directory: Its path.
        written: The path as the user wrote it, for the sentence.
    """
    shown = repr(str(directory) if written is None else written)
    try:
        is_directory = stat.S_ISDIR(os.stat(directory).st_mode)  # noqa: PTH116  (`is_dir` hides some errors)
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no directory of profiles {shown}"
    except OSError as error:  # no permission, a loop of links
        return f"cannot read the directory of profiles {shown}: {error.strerror}"
    except ValueError:
        return f"cannot read the directory of profiles {shown}: its name contains a null character"
    return None if is_directory else f"expected a directory of profiles, but {shown} is a file"


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
        try:
            real_path = os.path.realpath(directory.path)  # unlike `resolve`, it accepts loops
        except ValueError:  # a null character, so that no file can have the path
            real_path = str(directory.path)
        found.setdefault(real_path, directory)
    return tuple(found.values())


def user_profiles(
    environ: Mapping[str, str], named: Collection[str], *, is_own: bool
) -> tuple[list[Path], list[Diagnostic]]:
    """Return the user's own directory of profiles, if it exists and is not among the named ones.

    If there is something that cannot be used, that is a problem.

    Args:
        environ: The environment variables.
        named: The real paths of the directories that the user named.
        is_own: True if these are the variables of the process.

    Raises:
        DocumentError: others could have written a profile of the user.
    """
    directory = user_directory(environ, is_own=is_own)
    if directory is None or not may_exist(directory) or os.path.realpath(directory) in named:
        return [], []
    from etconfig.app.installation.trust import check_trusted

    message = unusable_directory(directory)
    if message is not None:
        from etconfig.profile.directory import directory_problem

        way_out = "correct that, or set XDG_CONFIG_HOME to a directory that this user can read"
        return [], [directory_problem(message, way_out)]
    check_trusted(_read_paths(directory), f"name the directory: {PROFILE_PATH_VARIABLE}={directory}")
    return [directory], []


def _read_paths(directory: Path) -> list[Path]:
    """Return the directories and files that are read, also the hidden directories that links lead to."""
    from etconfig.profile.directory import files_below

    listing = files_below(directory)
    known = {os.path.realpath(folder) for folder in listing.folders}
    hidden = {os.path.dirname(os.path.realpath(path)) for path in listing.files} - known  # noqa: PTH120
    inside = {Path(path) for path in hidden if Path(path).is_relative_to(os.path.realpath(directory))}
    return sorted({*listing.folders, *listing.files, *inside})


def user_directory(environ: Mapping[str, str], *, is_own: bool) -> Path | None:
    """Return the user's own directory of profiles, which may not exist; None if it is not known.

    Args:
        environ: The environment variables.
        is_own: True if these are the variables of the process.
    """
    base = environ.get("XDG_CONFIG_HOME", "").strip()
    if base and Path(base).is_absolute():
        return Path(base, "etconfig", "profiles")
    if not is_own:
        return None  # a custom environment does not say which home directory is meant
    if _IS_LINUX:
        # the default of the XDG base directory specification; importing platformdirs takes 8 ms
        return Path(os.path.expanduser("~/.config/etconfig/profiles"))  # noqa: PTH111  (never raises)
    from platformdirs import user_config_path

    return user_config_path("etconfig") / "profiles"


def broken_package(failure: PluginFailure) -> Diagnostic:
    """Return the problem of a package whose profiles cannot be found."""
    from etconfig.profile.directory import broken_provider

    distribution = f"{failure.distribution} {failure.version}"
    return broken_provider(f"{distribution} provides no profiles: {failure.cause}", failure.help)
