"""Profiles as they are in a directory, or were in a revision of git."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from etconfig.app.installation.installation import Installation
from etconfig.app.installation.profile_path import PROFILE_PATH_VARIABLE, directories_in_variable
from etconfig.app.installation.project_location import project_file_in
from etconfig.base.records import record
from etconfig.profile.directory import files_below
from etconfig.profile.library import Provider
from etconfig.profile.names import PROJECT_FILES

_PROFILE_TABLE = re.compile(r"^\s*\[\s*profile\s*\]", re.MULTILINE)


_HELP = "name the directory of profiles with --profile-path, or as profile_path in the project file"


class SideError(Exception):
    """A side of a comparison is neither a directory nor a revision, or has nothing to compare."""


@record(frozen=True, kw_only=True)
class ComparedSide:
    """A side of a comparison.

    Attributes:
        text: The text that names it.
        directory: The directory of its project file or profiles; a revision has a copy.
        installation: The plugins, with its profiles and project file.
    """

    text: str
    directory: Path
    installation: Installation

    @property
    def has_profiles(self) -> bool:
        """True if one of the named directories has profiles, or the project file names a profile by path.

        Raises:
            ConfigError: a named directory does not exist, or the project file is wrong.
        """
        project = self.installation.project
        if project is not None and project.profile is not None and project.profile.target.endswith(".toml"):
            return True
        named = [each.path for each in self.installation.profile_path]
        own = (each for each in self.installation.profiles.files if each.provider is Provider.USER)
        return any(each.path.is_relative_to(path) for each in own for path in named)

    def unread_profile(self) -> Path | None:
        """Return the first file with a profile below the directory of a side that reads none."""
        for path in sorted(files_below(self.directory).files):
            inside = path.relative_to(self.directory)
            if path.name in PROJECT_FILES or not path.is_file():
                continue
            if _PROFILE_TABLE.search(path.read_text(encoding="utf-8", errors="replace")):
                return inside
        return None


def check_sides(sides: Sequence[ComparedSide]) -> str | None:
    """Check that profiles or project files of the user are compared.

    Returns:
        A sentence about sides without profiles, if only their project files count; else None.

    Raises:
        SideError: there is neither, or no side reads profiles that are there.
        ConfigError: as for `ComparedSide.has_profiles`.
    """
    lacking = [side for side in sides if not side.has_profiles]
    if len(lacking) < len(sides):
        return f"{lacking[0].text} has no profiles of its own" if lacking else None
    for side in reversed(sides):
        unread = side.unread_profile()
        if unread is not None:
            raise SideError(f"no side reads profiles of its own, but {side.text} has {unread}; {_HELP}")
    if all(side.installation.project_path is None for side in sides):
        names = " and ".join(dict.fromkeys(side.text for side in sides))
        raise SideError(f"no profiles and no project file in {names}; {_HELP}")
    return "no side has profiles of its own, so only project files are compared"


@contextmanager
def side_at(text: str, profile_paths: Sequence[Path], directory: Path) -> Iterator[ComparedSide]:
    """Provide a side of a comparison: the installation with a directory of profiles, or as of a revision.

    Args:
        text: The current directory, as it is; a directory with a project file, which is read in its place;
            another directory, whose profiles are added; or a revision of git, of which all TOML files are
            taken.
        profile_paths: Further directories of profiles; directories in the repository are read as they were,
            and so are the directories of the environment.
        directory: The current directory.

    Raises:
        SideError: `text` is neither, or a directory without profiles.
    """
    path = Path(text)
    if path.is_dir():
        if path.samefile(directory):
            found = Installation(directory, profile_directories=profile_paths)
        elif project_file_in(path) is not None:
            found = Installation(path, profile_directories=profile_paths)
        elif files_below(path).files:
            found = Installation(directory, profile_directories=(*profile_paths, path))
        else:
            raise SideError(f"{text} has no profiles and no project file; name a directory of profiles")
        yield ComparedSide(text=text, directory=path, installation=found)
        return
    root = Path(_git(directory, "rev-parse", "--show-toplevel", about=text).decode().strip())
    _git(directory, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}", about=text)
    archive = _git(root, "archive", "--format=tar", text, "--", ":(glob)**/*.toml", about=text)
    with TemporaryDirectory(prefix="etconfig-revision-") as scratch:
        copy = Path(scratch)
        _extract(archive, copy)
        inside = copy / directory.resolve().relative_to(root.resolve())
        inside.mkdir(parents=True, exist_ok=True)
        variable = os.environ.get(PROFILE_PATH_VARIABLE, "")
        named = (*profile_paths, *(each.path for each in directories_in_variable(variable)))
        moved = [_moved(each, directory, root, copy) for each in named]
        found = Installation(inside, profile_directories=[each for each in moved if each.is_dir()])
        found.environ.pop(PROFILE_PATH_VARIABLE, None)
        yield ComparedSide(text=text, directory=inside, installation=found)


def _moved(path: Path, directory: Path, root: Path, copy: Path) -> Path:
    """Return a path as it is in the copy of the repository."""
    absolute = (directory / path).resolve()
    return copy / absolute.relative_to(root.resolve()) if absolute.is_relative_to(root.resolve()) else path


def _extract(archive: bytes, target: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            path = target / member.name
            content = files.extractfile(member) if member.isfile() else None
            if content is not None and path.resolve().is_relative_to(target.resolve()):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())


def _git(directory: Path, *words: str, about: str) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *words],  # noqa: S607
            cwd=directory,
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        reason = "git knows no such revision"  # it says nothing itself if it is to be quiet
        if isinstance(error, OSError):
            reason = str(error)
        elif error.stderr:
            reason = error.stderr.decode(errors="replace").strip()
        raise SideError(f"{about!r} is neither a directory nor a revision of git here: {reason}") from error
    return done.stdout
