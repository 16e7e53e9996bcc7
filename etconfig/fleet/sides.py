"""The sides of a comparison: whether there is something of the user's own to compare."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from etconfig.app.installation import Installation
from etconfig.profile.directory import files_below
from etconfig.profile.library import Provider
from etconfig.profile.names import PROJECT_FILES
from etconfig.records import record

_PROFILE_TABLE = re.compile(r"^\s*\[\s*profile\s*\]", re.MULTILINE)


_HELP = "name the directory of profiles with --profile-path, or as profile_path in the project file"


class SideError(Exception):
    """A side of a comparison is neither a directory nor a revision, or has nothing to compare."""


@record(frozen=True, kw_only=True)
class ComparedSide:
    """A side of a comparison.

    Attributes:
        text: The text that names it.
        directory: The directory of its project file or profiles; that of a revision is a copy.
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
