"""Directories of profiles: what cannot be listed is a problem, never an empty directory."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic

SUFFIX = ".toml"
"""The end of the name of every file with a profile."""

_CONSEQUENCE = "the profile that fits a device might be there, so `auto` selects none"


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


def files_below(directory: Path) -> tuple[list[Path], list[OSError]]:
    """Return the TOML files in a directory and below it, and the errors of what could not be listed.

    Links to directories are not followed.
    """
    files: list[Path] = []
    errors: list[OSError] = []
    for folder, folders, names in os.walk(directory, onerror=errors.append):
        here = Path(folder)
        # a directory of such a name is among them: reading it will say what is wrong
        files += (here / name for name in (*folders, *names) if name.endswith(SUFFIX))
    return files, errors


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
