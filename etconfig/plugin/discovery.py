"""Find installed plugins in the metadata of distributions, without importing anything.

`importlib.metadata` takes several times as long, most of it on distributions that declare no plugin. Here
such a distribution costs one attempt to open a file.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.plugin.entry_points import (
    GROUPS,
    PROFILES,
    EntryPoint,
    normalized_name,
    parse_entry_points,
    unknown_groups,
)
from etconfig.plugin.failure import PluginFailure, load_error, reinstall_help
from etconfig.plugin.index import PluginIndex, PluginPolicy

if TYPE_CHECKING:
    from etconfig.errors import PluginLoadError


_SUFFIXES = (".dist-info", ".egg-info")
_FILE = "entry_points.txt"
_MAX_ARCHIVED = 1 << 20
"""The most bytes of a file in an archive that are read."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_EVERYTHING = PluginPolicy()
_UNKNOWN_VERSION = "(unknown version)"
_DIRECTORY = re.compile(r"(?P<package>\w+(?:\.\w+)*):(?P<directory>\w[\w.-]*(?:/\w[\w.-]*)*)")


def discover_plugins(
    search_path: Iterable[str] | None = None, *, policy: PluginPolicy = _EVERYTHING
) -> PluginIndex:
    """List the plugins that distributions on `search_path` declare. Never raises.

    Of several distributions with the same name, the first on the path counts, as it does for imports.

    Args:
        search_path: The directories to search; by default `sys.path`.
        policy: The plugins that may be used; by default all.
    """
    scan = _Scan()
    roots = [*(sys.path if search_path is None else search_path)]
    for directories in _distributions(roots):
        scan.add(directories)
    for root in roots:
        for directory, data in _archived(root):
            scan.add_archived(directory, data)
    return PluginIndex(tuple(scan.entries), tuple(scan.failures), policy)


def _distributions(search_path: Iterable[str]) -> Iterator[list[str]]:
    """Yield the metadata directories of each distribution; more than one is a broken installation."""
    seen: set[str] = set()
    for root in search_path:
        here: dict[str, list[str]] = {}
        for name in _metadata_names(root or "."):
            project = _name_and_version(name)[0].lower().replace("_", "-").replace(".", "-")
            if project not in seen:
                here.setdefault(project, []).append(f"{root or '.'}/{name}")
        seen.update(here)
        yield from here.values()


def _metadata_names(root: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(root) if name.endswith(_SUFFIXES))  # noqa: PTH208
    except OSError:
        return []  # archives, see `_archived`, and directories that do not exist


def _archived(root: str) -> Iterator[tuple[str, bytes]]:
    """Yield each metadata directory of an archive on the search path, with its entry_points.txt."""
    if not os.path.isfile(root):  # noqa: PTH113
        return
    import zipfile  # few search paths contain archives

    try:
        with zipfile.ZipFile(root) as archive:
            for name in archive.namelist():
                directory, _, file = name.rpartition("/")
                if file == _FILE and directory.endswith((*_SUFFIXES, "EGG-INFO")):
                    with archive.open(name) as member:
                        yield f"{root}/{directory}", member.read(_MAX_ARCHIVED)
    except Exception:  # damaged in whatever way: Python cannot import from it either
        return


def _name_and_version(directory_name: str) -> tuple[str, str]:
    """Return name and version from the name of a metadata directory, such as `acme_npu-2.1.dist-info`."""
    name, _, rest = directory_name.rpartition(".")[0].partition("-")
    return name, rest.partition("-")[0] or _UNKNOWN_VERSION


class _Scan:
    """The entry points and failures found so far."""

    def __init__(self) -> None:
        self.entries: list[EntryPoint] = []
        self.failures: list[PluginFailure] = []

    def add(self, directories: list[str]) -> None:
        """Add one distribution, given its metadata directories."""
        declaring = []
        for directory in directories:
            try:
                data = _read_bytes(f"{directory}/{_FILE}")
            except OSError as error:
                self._fail(directory, f"its entry_points.txt cannot be read: {error.strerror}")
            else:
                if b"etconfig." in data or data.startswith(_UTF_16):
                    declaring.append((directory, data))
        if len(declaring) > 1:
            places = " and ".join(directory for directory, _ in declaring)
            self._fail(declaring[-1][0], f"it is installed more than once: {places}")
        # They are sorted, so of several versions the last is most likely the newest installation.
        for directory, data in declaring[-1:]:
            self._add_entries(directory, data)

    def add_archived(self, directory: str, data: bytes) -> None:
        """Report a distribution in an archive, unless it is installed, too."""
        known = {normalized_name(entry.distribution) for entry in self.entries}
        if b"etconfig." in data and normalized_name(_identity(directory)[0]) not in known:
            cause = f"it is in the archive {directory.rpartition('/')[0]}, where etconfig finds no plugins"
            self._fail(
                directory, cause, "install it with pip instead of adding the archive to the search path"
            )

    def _add_entries(self, directory: str, data: bytes) -> None:
        try:
            values, problems = parse_entry_points(data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            values, problems = {}, ["it is not UTF-8"]
        distribution, version = _identity(directory)
        for (group, name), value in values.items():
            entry = EntryPoint(
                group=group,
                name=name,
                value=value,
                distribution=distribution,
                version=version,
                location=directory,
            )
            self.entries.append(entry)
        for problem in problems:
            self._fail(directory, f"its entry_points.txt is malformed: {problem}")
        for group in unknown_groups(data):
            self._check_group(directory, group)

    def _check_group(self, directory: str, group: str) -> None:
        """Report a misspelled group. Others may be from a newer etconfig."""
        from etconfig.diagnostics import nearest  # imported late: most groups exist

        words = {known.rpartition(".")[2]: known for known in GROUPS}  # the beginning is the same in all
        word = nearest(group.partition(".")[2], words)
        if word is not None:
            cause = f"it has entry points in the group {group!r}, which etconfig does not read"
            self._fail(directory, cause, f"write {words[word]!r} in pyproject.toml, and install it again")

    def _fail(self, directory: str, cause: str, author_help: str | None = None) -> None:
        distribution, version = _identity(directory)
        failure = PluginFailure(
            distribution=distribution,
            version=version,
            cause=cause,
            help=author_help or reinstall_help(distribution),
            author_help=author_help,
        )
        self.failures.append(failure)


def _identity(directory: str) -> tuple[str, str]:
    """Return name and version from the headers of the metadata, or else from the name of the directory."""
    name, version = _name_and_version(directory.rpartition("/")[2])
    file_name = "METADATA" if directory.endswith(_SUFFIXES[0]) else "PKG-INFO"
    try:
        text = _read_bytes(f"{directory}/{file_name}").decode(errors="replace")
    except OSError:
        return name, version
    headers: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            break  # a blank line ends the headers
        if value.strip():
            headers.setdefault(key.lower(), value.strip())
    return headers.get("name", name), headers.get("version", version)


def _read_bytes(path: str) -> bytes:
    """Return the contents of a file, or nothing if it does not exist.

    Raises:
        OSError: it exists, but cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


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
    match = _DIRECTORY.fullmatch(entry.value)
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
