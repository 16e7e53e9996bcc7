"""Several devices on the command line: patterns and directories as sheets, each once, with distinct names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from etconfig.cli.shared.files import FoundFiles, find_files
from etconfig.cli.shared.known_device import KnownDevicePath, name_of_device
from etconfig.cli.shared.standard_input import StandardInput


def expanded_sheets(sheets: Iterable[Path]) -> list[Path]:
    """Expand patterns and directories to sheets, each once.

    Raises:
        click.BadParameter: one stands for no file.
    """
    found: dict[str, Path] = {}
    for sheet in sheets:
        is_named = isinstance(sheet, (KnownDevicePath, StandardInput))
        files = FoundFiles(paths=[sheet]) if is_named else _found(str(sheet))
        for path in files.paths:
            found.setdefault(os.path.abspath(path), path)  # noqa: PTH100  (a path that `..` leads to is the same)
    return [*found.values()]


def sheet_names(sheets: Sequence[Path | None]) -> list[str]:
    """Return the name of each device in results.

    It is that of a known device, or that of the sheet's file, with as many of its directories as tell it
    apart from the others; for None it is `this device`.
    """
    from etconfig.app.configuring.device_names import name_devices

    if len(sheets) == 1:
        return [name_of_device(sheets[0])]
    known = [str(sheet) for sheet in sheets if isinstance(sheet, KnownDevicePath)]
    others = [sheet for sheet in sheets if sheet is not None and not isinstance(sheet, KnownDevicePath)]
    names = iter(name_devices(others, known))
    return [name_of_device(each) if isinstance(each, KnownDevicePath) else next(names) for each in sheets]


def _found(text: str) -> FoundFiles:
    from etconfig.facts.known_devices import device_names, short_names

    try:
        found = find_files([text], ".json")
        missing = found.missing
    except click.BadParameter as error:
        missing = (error.message,)
    if not missing:
        # a pipe among the files of a directory would be waited for; one that is named is meant
        files = [path for path in found.paths if path.is_file() or not path.exists() or str(path) == text]
        return FoundFiles(paths=files)
    is_device = text in {*device_names(), *short_names(device_names())}
    hint = f"; the known device of this name is --device {text}" if is_device else ""
    raise click.BadParameter("; ".join(missing) + hint, click.get_current_context(), param_hint="'--facts'")
