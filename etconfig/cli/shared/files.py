"""The argument FILES of `etconfig validate`, and the names that its findings have for files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.input_files import FoundFiles, find_files

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic
    from etconfig.profile.table import TomlTable

_SUFFIX = ".toml"


def _find_argument(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> FoundFiles:
    try:
        return find_files(texts or _files_of_project())
    except click.BadParameter as error:
        error.ctx, error.param = context, parameter
        raise


def _files_of_project() -> list[str]:
    """Return the project file here, and the files and directories of profiles and models that it names.

    Raises:
        click.BadParameter: there is no project file.
    """
    from etconfig.app.installation.installation import Installation
    from etconfig.errors import EtconfigError
    from etconfig.profile.document import load_document
    from etconfig.profile.project import parse_part

    installation = Installation(Path.cwd())
    if installation.project_path is None:
        raise click.BadParameter(
            "name files; without a project file, there are none to check "
            "(`etconfig matrix` compares programs alone with devices)"
        )
    found, folder = [installation.project_path], installation.project_path.parent
    try:
        # what is wrong elsewhere in the project file keeps no other file from being checked
        named: tuple[str, ...] = parse_part(load_document(found[0]), _paths_in, ())
        found += [path for path in (folder / each for each in named) if path.exists()]
    except (EtconfigError, OSError):
        pass  # checking the project file says why
    return [os.path.relpath(path) for path in found]


def _paths_in(section: TomlTable) -> tuple[str, ...]:
    profile = section.string("profile") or ""
    named = (*section.strings("profile_path"), *section.strings("models"))
    return (*named, profile) if profile.endswith(_SUFFIX) else named


files_argument = click.argument("files", nargs=-1, required=False, type=click.Path(), callback=_find_argument)


def named_as_given(problems: Iterable[Diagnostic], files: Iterable[Path]) -> Iterator[Diagnostic]:
    """Call each file by the name that was given for it, also where another file refers to it by its path.

    Then one problem that is found in two ways is the same, and its fix is one of a given file.
    """
    files = list(files)
    names = {str(path): str(path) for path in files}
    given: dict[str, str] = {}
    for problem in problems:
        for span in problem.spans:
            if span.file not in names:
                given = given or {os.path.realpath(path): str(path) for path in files}
                names[span.file] = given.get(os.path.realpath(span.file), span.file)
        if any(names[span.file] != span.file for span in problem.spans):
            spans = tuple(replace(span, file=names[span.file]) for span in problem.spans)
            fix = problem.fix
            if fix is not None and fix.span.file in names:
                fix = replace(fix, span=replace(fix.span, file=names[fix.span.file]))
            problem = replace(problem, spans=spans, fix=fix)
            for file in names.keys() - names.values():
                problem = _renamed(problem, file, names[file])
        yield problem


def _renamed(problem: Diagnostic, before: str, after: str) -> Diagnostic:
    """Replace a name in the texts of a problem, which may name places like `board.toml:5:1`, too."""
    place = re.compile(rf"(?<![\w./\\-]){re.escape(before)}(?=:\d)")  # not the end of a longer path
    message, *notes = (place.sub(lambda _: after, text) for text in (problem.message, *problem.notes))
    return replace(problem, message=message, notes=tuple(notes))
