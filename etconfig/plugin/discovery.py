"""Find installed plugins in the metadata of distributions, without importing anything.

`importlib.metadata` takes several times as long, most of it on distributions that declare no plugin. Here
such a distribution costs one attempt to open a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping

from etconfig.plugin.entry_points import GROUPS, EntryPoint, parse_entry_points, unknown_groups
from etconfig.plugin.failure import PluginFailure, reinstall_help
from etconfig.plugin.index import PluginIndex
from etconfig.plugin.policy import PluginPolicy

_SUFFIXES = (".dist-info", ".egg-info")
_EVERYTHING = PluginPolicy()
_UNKNOWN_VERSION = "(unknown version)"


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
    for directories in _distributions(sys.path if search_path is None else search_path):
        scan.add(directories)
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
        return []  # sys.path may contain archives and directories that do not exist


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
                data = _read_bytes(f"{directory}/entry_points.txt")
            except OSError as error:
                self._fail(directory, f"its entry_points.txt cannot be read: {error.strerror}")
            else:
                if b"etconfig." in data:
                    declaring.append((directory, data))
        if len(declaring) > 1:
            places = " and ".join(directory for directory, _ in declaring)
            self._fail(declaring[-1][0], f"it is installed more than once: {places}")
        # They are sorted, so of several versions the last is most likely the one that was installed last.
        for directory, data in declaring[-1:]:
            self._add_entries(directory, data)

    def _add_entries(self, directory: str, data: bytes) -> None:
        try:
            values, problems = parse_entry_points(data.decode())
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
        """Report a misspelled group. Others may be those of a newer etconfig."""
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
    headers = _headers(directory)
    return headers.get("name", name), headers.get("version", version)


def _headers(directory: str) -> Mapping[str, str]:
    file_name = "METADATA" if directory.endswith(_SUFFIXES[0]) else "PKG-INFO"
    try:
        text = _read_bytes(f"{directory}/{file_name}").decode(errors="replace")
    except OSError:
        return {}
    headers: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            break  # a blank line ends the headers
        if value.strip():
            headers.setdefault(key.lower(), value.strip())
    return headers


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
