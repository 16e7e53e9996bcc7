"""Find the directories of profiles that entry points of `etconfig.profiles` name, without importing them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.plugin.entry_points import PROFILES, EntryPoint
from etconfig.plugin.failure import PluginFailure, load_error, reinstall_help
from etconfig.plugin.index import PluginIndex

if TYPE_CHECKING:
    from etconfig.errors import PluginLoadError

_VALUE = re.compile(r"(?P<package>\w+(?:\.\w+)*):(?P<directory>\w[\w.-]*(?:/\w[\w.-]*)*)")


def profile_directories(index: PluginIndex) -> tuple[dict[EntryPoint, Path], tuple[PluginFailure, ...]]:
    """Return the directories of all usable entry points, and the failures of the others."""
    directories: dict[EntryPoint, Path] = {}
    failures: list[PluginFailure] = []
    for entry in index.entries(PROFILES):
        found = _directory_or_failure(entry)
        if isinstance(found, PluginFailure):
            failures.append(found)
        else:
            directories[entry] = found
    return directories, tuple(failures)


def _directory_or_failure(entry: EntryPoint) -> Path | PluginFailure:
    from etconfig.errors import PluginLoadError  # imported late: most installations never need it here

    try:
        return resolve_profile_directory(entry)
    except PluginLoadError as error:
        return PluginFailure.of(error)


def resolve_profile_directory(entry: EntryPoint) -> Path:
    """Return the directory that a value such as `acme_profiles:profiles` or `acme.npu:profiles` names.

    Raises:
        PluginLoadError: the value is malformed, the package does not exist, or it lacks the directory.
    """
    match = _VALUE.fullmatch(entry.value)
    if match is None:
        raise load_error(entry, f"its entry point has the value {entry.value!r}", "write PACKAGE:DIRECTORY")
    for root in _package_directories(entry, match["package"]):
        directory = root / match["directory"]
        if directory.is_dir():
            return directory
    cause = f"package {match['package']} has no directory {match['directory']}"
    raise _missing(entry, cause)


def _missing(entry: EntryPoint, cause: str) -> PluginLoadError:
    fix = f"correct the entry point {entry.name} in pyproject.toml, and install it again"
    return load_error(entry, cause, reinstall_help(entry.distribution), author_help=fix)


def _package_directories(entry: EntryPoint, package: str) -> list[Path]:
    import importlib.util

    top, *inner = package.split(".")
    try:
        # Finding a top-level package imports nothing; one inside it is looked for as a directory.
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.submodule_search_locations is None:
        cause = f"there is no package {top}"
        raise _missing(entry, cause)
    return [Path(location, *inner) for location in spec.submodule_search_locations]
