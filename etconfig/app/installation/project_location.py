"""The place of the project file: found above a directory, or beside one that hides it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.profile.names import PROJECT_FILES

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic


_KEY = re.compile(rb"etconfig[\"']?[ \t]*[].=]")
"""The key `etconfig`, with what may follow it, and little else: not the name of a dependency."""
_ESCAPED_LETTER = re.compile(rb"\\(?:u00|U000000|x)[67]")
"""An escape of a letter in a quoted key, which may be one of `etconfig`."""


def find_project_file(directory: Path) -> Path | None:
    """Return the project file in `directory` or the nearest directory above it, or None."""
    folders = (directory, *directory.resolve().parents)
    return next((path for path in map(project_file_in, folders) if path is not None), None)


def project_file_in(directory: Path) -> Path | None:
    """Return the project file in a directory, or None."""
    for name in PROJECT_FILES:
        path = directory / name
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
    from etconfig.profile.document import load_document
    from etconfig.profile.project import section_span

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
    """Return True if a pyproject.toml has a table `[tool.etconfig]`, in any spelling, or nearly its name.

    One that cannot be read may have it: reading it will say why. Most do not mention it and need no parser.
    """
    try:
        content = path.read_bytes().replace(b"\0", b"")  # of UTF-16 and UTF-32, ASCII remains
    except (OSError, ValueError):
        return True
    if _KEY.search(content) is None and _ESCAPED_LETTER.search(content) is None:
        return False
    from etconfig.errors import DocumentError
    from etconfig.profile.document import load_document
    from etconfig.profile.project import has_project_section

    try:
        return has_project_section(load_document(path))
    except DocumentError:
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
