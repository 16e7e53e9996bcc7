"""Lists of backends and profiles, without importing click."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.plugin import BACKENDS
from etconfig.report.model import Table

if TYPE_CHECKING:
    from etconfig.app.installation.installation import Installation
    from etconfig.method import ExecutorReport
    from etconfig.plugin import EntryPoint


def list_backends(installation: Installation) -> Table:
    """List the installed backends and the distributions that provide them.

    If several plugins declare a backend, the list says which one is used. They are imported only if their
    distributions do not say which of them have an implementation.
    """
    entries = installation.index.entries(BACKENDS)
    keys, headers = ("backend", "distribution", "version"), ("BACKEND", "DISTRIBUTION", "VERSION")
    if len({entry.name for entry in entries}) == len(entries):
        rows = [(entry.name, entry.distribution, entry.version) for entry in entries]
        return Table(headers=headers, keys=keys, rows=sorted(rows))
    described = [
        (entry.name, entry.distribution, entry.version, passed_over(installation, entry) or "yes")
        for entry in entries
    ]
    return Table(headers=(*headers, "USED"), keys=(*keys, "used"), rows=sorted(described))


def passed_over(installation: Installation, entry: EntryPoint) -> str | None:
    """Return why a plugin that declares a backend is not used for it; None if it is."""
    from etconfig.errors import DuplicatePluginError

    try:
        winner = _used_entry(installation, entry.name)
    except DuplicatePluginError as error:
        return f"no: {error.message}; {error.help}"
    if winner == entry:
        return None
    if installation.index.candidates(BACKENDS, entry.name) == [winner]:
        return f"no: the project file prefers {winner.distribution}"
    return f"no: it only declares options, and {winner.source} has an implementation"


def _used_entry(installation: Installation, backend: str) -> EntryPoint:
    """Return the entry point that declares a backend; see `PluginRegistry.backend_entry`."""
    index = installation.index
    rivals = index.candidates(BACKENDS, backend)
    if len(rivals) == 1 or all(index.declarations.has_implementation(each) is not None for each in rivals):
        return index.find(BACKENDS, backend)
    return installation.plugins.backend_entry(backend)


def list_with_runtime(installation: Installation, executor: str) -> Table:
    """List the backends that are installed or of an executor's runtime, and which can run here. Imports them.

    Raises:
        PluginError: no such executor is installed, or its plugin is broken.
    """
    from etconfig.app.programs.executors import executor_report

    runtime = executor_report(installation, executor)
    entries = installation.index.entries(BACKENDS)
    declared = {entry.name for entry in entries}
    rows = []
    for entry in entries:
        reason = passed_over(installation, entry)
        here = ("no", reason.removeprefix("no: ")) if reason else None
        here = here or _availability(installation, entry.name, executor, runtime)
        rows.append((entry.name, entry.distribution, entry.version, *here))
    for backend in {each.id for each in runtime.backends} - declared:
        rows.append((backend, "none", "", *_availability(installation, backend, executor, runtime)))
    headers = ("BACKEND", "DISTRIBUTION", "VERSION", "RUNS HERE", "WITH, OR WHY NOT")
    keys = ("backend", "distribution", "version", "available", "detail")
    return Table(headers=headers, keys=keys, rows=sorted(rows))


def _availability(
    installation: Installation, backend: str, executor: str, runtime: ExecutorReport
) -> tuple[str, str]:
    from etconfig.app.programs.executors import backend_status
    from etconfig.errors import PluginError

    try:
        status = backend_status(installation, backend, executor, runtime)
    except PluginError as error:
        return "no", error.message
    if status.is_available:
        return "yes", status.version or ""
    return "no", status.reason or ""


def list_profiles(installation: Installation) -> Table:
    """List the known profiles and their files.

    Raises:
        ProfileError: two files claim one name, or a directory is missing.
    """
    library = installation.profiles
    rows = [(name, str(library.find(name).path)) for name in library.names]
    return Table(headers=("PROFILE", "FILE"), keys=("name", "path"), rows=rows)
