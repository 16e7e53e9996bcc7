"""The place of the project file: found above a directory, or beside one that hides it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.profile.names import PROJECT_FILES

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic


def find_project_file(directory: Path) -> Path | None:
    """Return the project file in `directory` or the nearest directory above it, or None."""
    for folder in (directory, *directory.resolve().parents):
        for name in PROJECT_FILES:
            path = folder / name
            if may_exist(path) and (name != "pyproject.toml" or _configures_etconfig(path)):
                return path
    return None


def ignored_project_file(directory: Path) -> Diagnostic | None:
    """Return the warning about a pyproject.toml with `[tool.etconfig]` beside an `etconfig.toml`, or None."""
    first, second = (directory / name for name in PROJECT_FILES)
    if not (second.is_file() and first.is_file() and _configures_etconfig(second)):
        return None
    from etconfig.diagnostics import Diagnostic, Severity
    from etconfig.errors import DocumentError
    from etconfig.profile import load_document, section_span

    try:
        span = section_span(load_document(second))
    except DocumentError:
        return None  # it is not read, so what is wrong with it does not matter here
    if span is None:
        return None
    return Diagnostic(
        code="ignored-project-file",
        message=f"[tool.etconfig] in {second.name} has no effect: {first.name} beside it counts",
        spans=(span,),
        help=f"move the settings to {first.name}, or remove that file",
        severity=Severity.WARNING,
    )


def _configures_etconfig(path: Path) -> bool:
    """Return True if a pyproject.toml may have a table `[tool.etconfig]`; most do not, and need no parser.

    One that cannot be read may have it: reading it will say why.
    """
    try:
        return re.search(rb"^\s*\[+\s*tool\s*\.\s*etconfig\b", path.read_bytes(), re.MULTILINE) is not None
    except OSError:
        return True


def may_exist(path: Path) -> bool:
    """Return True if something has this path, and also if that cannot be found out.

    A directory in place of a file, or the reverse, counts: reading it will say what is wrong.
    """
    try:
        path.lstat()  # a link to nothing was meant to be something
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
