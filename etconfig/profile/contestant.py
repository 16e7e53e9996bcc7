"""`Contestant`: what is remembered of a profile to find out later whether `auto` can select it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.profile.directory import SUFFIX
from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.profile.expression.checked import Checked
    from etconfig.profile.library import ProfileFile
    from etconfig.profile.profile import Profile


@record(frozen=True)
class Contestant:
    """The parts of a profile that count when `auto` selects.

    Attributes:
        file: Its file.
        name: Its name.
        extends: The names and paths that it extends directly.
        tree: Its condition; None if it can only be extended or named.
        facts: The facts that the condition mentions.
    """

    file: ProfileFile
    name: str
    extends: tuple[str, ...]
    tree: Checked | None
    facts: frozenset[str]

    @classmethod
    def of(cls, file: ProfileFile, profile: Profile) -> Contestant:
        """Return the contestant of a profile; it does not keep the profile's text in memory."""
        extends = tuple(reference.target for reference in profile.extends)
        match = profile.match
        if match is None:
            return cls(file, profile.name, extends, None, frozenset())
        return cls(file, profile.name, extends, match.tree, match.facts)


def root_of(file: ProfileFile, name: str) -> Path | None:
    """Return the directory of profiles in which a file lies where its name says, or None if it does not."""
    place = Path(os.path.abspath(file.path))  # noqa: PTH100  (`resolve` follows links)
    if not (name and place.as_posix().endswith(f"/{name}{SUFFIX}")):
        return None
    return place.parents[name.count("/")]
