"""The user's own profiles, and what is wrong with directories of profiles."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.app.installation.profile_path import PROFILE_PATH_VARIABLE
from etconfig.app.installation.project_location import may_exist

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic
    from etconfig.plugin import PluginFailure

_IS_LINUX = sys.platform == "linux"


def user_profiles(
    environ: Mapping[str, str], named: Collection[str], *, is_own: bool
) -> tuple[list[Path], list[Diagnostic]]:
    """Return the user's own directory of profiles, if it exists and is not among the named ones.

    If there is something that cannot be used, that is a problem.

    Args:
        environ: The environment variables.
        named: The real paths of the directories that the user named.
        is_own: True if these variables are those of the process.

    Raises:
        DocumentError: others could have written a profile of the user.
    """
    directory = user_directory(environ, is_own=is_own)
    if directory is None or not may_exist(directory) or os.path.realpath(directory) in named:
        return [], []
    from etconfig.profile.directory import directory_problem, unusable_directory
    from etconfig.profile.trust import check_trusted

    message = unusable_directory(directory)
    if message is not None:
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
        is_own: True if these variables are those of the process.
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
