"""Directories of profiles: what cannot be listed is a problem, never an empty directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.base.records import record

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic

SUFFIX = ".toml"
"""The end of the name of every file with a profile."""

_CONSEQUENCE = "the profile that fits a device might be there, so `auto` selects none"


@record(frozen=True)
class FolderListing:
    """The files in a directory and below it.

    Attributes:
        files: The files whose names end in the suffix.
        errors: The errors of what could not be listed.
        folders: The directories that were listed.
    """

    files: list[Path]
    errors: list[OSError]
    folders: list[Path]


def files_below(directory: Path, suffix: str = SUFFIX) -> FolderListing:
    """List the files with a suffix in a directory and below it, except in hidden entries.

    Names of hidden entries start with a dot, such as `.git`, `.ipynb_checkpoints` and the `..data` of a
    mounted ConfigMap. A link to a directory is followed only if it leads to a hidden part of `directory`,
    as in such a mount: what it contains is listed nowhere else.
    """
    found = FolderListing([], [], [])
    _list_below(str(directory), suffix, found, os.path.realpath(directory))
    return found


def is_hidden(name: str) -> bool:
    """Return True if an entry of a directory is hidden: no command takes it for a profile or a sheet."""
    return name.startswith(".")


def _list_below(top: str, suffix: str, found: FolderListing, root: str) -> None:
    for folder, folders, names in os.walk(top, onerror=found.errors.append):
        here = Path(folder)
        found.folders.append(here)
        folders[:] = [name for name in folders if not is_hidden(name)]
        # a directory of such a name is among them: reading it will say what is wrong
        found.files.extend(
            here / name for name in (*folders, *names) if name.endswith(suffix) and not is_hidden(name)
        )
        for name in folders:
            path = os.path.join(folder, name)  # noqa: PTH118  (called for each of very many directories)
            if os.path.islink(path) and _leads_to_hidden(path, root):  # noqa: PTH114
                _list_below(path, suffix, found, root)


def _leads_to_hidden(link: str, root: str) -> bool:
    """Return True if a link leads to a hidden part of a directory, which the walk itself does not enter."""
    target = Path(os.path.realpath(link))
    return target.is_relative_to(root) and any(map(is_hidden, target.relative_to(root).parts))


def unreadable_directory(error: OSError) -> Diagnostic:
    """Return the problem that a directory of profiles, or one inside, cannot be listed."""
    return directory_problem(
        f"cannot read the directory of profiles {str(error.filename)!r}: {error.strerror}",
        "make it readable, remove it, or name a profile that lies elsewhere",
    )


def directory_problem(message: str, help: str) -> Diagnostic:
    """Return the problem of a directory that `auto` cannot do without."""
    from etconfig.diagnostics import Diagnostic

    return Diagnostic(code="unreadable-file", message=message, notes=(_CONSEQUENCE,), help=help)


def broken_provider(message: str, help: str) -> Diagnostic:
    """Return the problem of a package that promises profiles and lacks them."""
    from etconfig.diagnostics import Diagnostic

    return Diagnostic(code="broken-plugin", message=message, notes=(_CONSEQUENCE,), help=help)
