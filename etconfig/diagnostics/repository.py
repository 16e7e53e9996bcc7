"""`RepositoryNames`: files as a code host names them, relative to the root of the repository."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from etconfig.diagnostics.diagnostic import Diagnostic
from etconfig.diagnostics.span import Span

_WORKSPACE = "GITHUB_WORKSPACE"


class RepositoryNames:
    """Renames the files of diagnostics for a code host.

    Args:
        directory: The current directory. The root is the nearest directory above it, or itself, with `.git`,
            else the workspace of GitHub Actions, else the current directory.
        environ: The environment variables.
        is_public: True for a page that others read: of a file outside the repository, only the last two
            parts of the path are shown. By default its whole path stays.
    """

    def __init__(self, directory: Path, environ: Mapping[str, str], *, is_public: bool = False) -> None:
        here = Path(os.path.realpath(directory))
        workspace = environ.get(_WORKSPACE, "")
        named = Path(os.path.realpath(workspace)) if workspace else here
        fallback = named if here.is_relative_to(named) else here
        above = (folder for folder in (here, *here.parents) if os.path.lexists(folder / ".git"))
        self._root = next(above, fallback)
        self._is_public = is_public

    def __call__(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return the diagnostic with other names of files, also where its texts name places."""
        names = {span.file: self.name_of(span.file) for span in diagnostic.spans}
        fix = diagnostic.fix
        if fix is not None:
            fix = replace(fix, span=_renamed(fix.span, self.name_of(fix.span.file)))
        return replace(
            diagnostic,
            message=self._text(diagnostic.message, names),
            spans=tuple(_renamed(span, names[span.file]) for span in diagnostic.spans),
            notes=tuple(self._text(note, names) for note in diagnostic.notes),
            help=None if diagnostic.help is None else self._text(diagnostic.help, names),
            fix=fix,
        )

    def name_of(self, file: str) -> str:
        """Return the name of a file as the code host shows it; other texts stay as they are."""
        if not os.path.lexists(file):  # the name of an option, for example
            return file
        path = Path(os.path.abspath(file))  # noqa: PTH100  (keeps links)
        for each in (path, Path(os.path.realpath(path))):
            if each.is_relative_to(self._root):
                return each.relative_to(self._root).as_posix()
        return "/".join(path.parts[-2:]) if self._is_public else file

    def _text(self, text: str, names: Mapping[str, str]) -> str:
        for before, after in names.items():
            if before != after:
                whole = re.escape(before)
                pattern = whole if Path(before).is_absolute() else rf"(?<![\w./\\-]){whole}(?=:\d)"
                text = re.sub(pattern, lambda _, name=after: name, text)  # type: ignore[misc]
        return text.replace(f"{self._root}{os.sep}", "") if self._root.parent != self._root else text


def _renamed(span: Span, file: str) -> Span:
    return span if span.file == file else replace(span, file=file)
