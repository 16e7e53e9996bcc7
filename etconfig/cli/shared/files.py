"""The argument FILES: files, directories and patterns, expanded to files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path

import click

from etconfig.cli.shared.standard_input import standard_input

_SUFFIX = ".toml"


def find_files(texts: Sequence[str]) -> list[Path]:
    """Expand the arguments to files, each once, in the order of the arguments.

    A directory stands for every *.toml below it, except in hidden directories; a pattern such as
    `profiles/**/*.toml` for the files that match it. Both are sorted by path. `-` is standard input.

    Raises:
        click.BadParameter: an argument stands for no file.
    """
    return list(dict.fromkeys(path for text in texts for path in _files_of(text)))


def _find_argument(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> list[Path]:
    try:
        return find_files(texts)
    except click.BadParameter as error:
        error.ctx, error.param = context, parameter
        raise


files_argument = click.argument("files", nargs=-1, required=True, type=click.Path(), callback=_find_argument)


def _files_of(text: str) -> list[Path]:
    if text == "-":
        return [standard_input()]
    path = Path(text)
    if path.is_dir():
        return _all_of(_below(path), f"Directory {text!r} contains no {_SUFFIX} file")
    if os.path.lexists(path):  # also if its name looks like a pattern, or it is a broken link
        return [path]
    if set(text) & set("*?["):
        # Path.glob takes no absolute patterns
        matching = (Path(name) for name in glob(text, recursive=True))  # noqa: PTH207
        return _all_of((path for path in matching if path.is_file()), f"No file matches {text!r}")
    raise click.BadParameter(f"File {text!r} does not exist")


def _all_of(paths: Iterator[Path], otherwise: str) -> list[Path]:
    found = sorted(paths)
    if not found:
        raise click.BadParameter(otherwise)
    return found


def _below(directory: Path) -> Iterator[Path]:
    for parent, directories, names in os.walk(directory):
        directories[:] = [name for name in directories if not name.startswith(".")]
        yield from (Path(parent, name) for name in names if name.endswith(_SUFFIX))
