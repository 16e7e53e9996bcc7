"""The devices of a project: `devices` of the project file, as fact sheets by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from glob import escape, glob
from pathlib import Path

from etconfig.app.configuring.device_names import name_devices
from etconfig.app.installation.installation import Installation
from etconfig.diagnostics import Diagnostic
from etconfig.errors import FactError, ProfileError
from etconfig.facts.known_devices import device_path, find_device, matching_devices
from etconfig.profile.directory import files_below
from etconfig.profile.profile import Reference

_SHEET = ".json"
_SHEET_HELP = (
    "paths are relative to the project file; `etconfig facts --save FILE` writes a sheet of a device"
)


def project_devices(installation: Installation) -> dict[str, Path]:
    """Return the sheets of the project's devices, by the names of the devices; empty if it names none.

    Raises:
        ConfigError: the project file is wrong, or names a device or sheet that does not exist.
    """
    project, path = installation.project, installation.project_path
    return {} if project is None or path is None else devices_named(project.devices, path.parent)


def devices_named(references: Iterable[Reference], directory: Path) -> dict[str, Path]:
    """Return the sheets of the devices that a project file in a directory names. Raises as the above."""
    known: dict[str, Path] = {}
    sheets: dict[Path, None] = {}
    problems: list[Diagnostic] = []
    for reference in references:
        try:
            found = [*_sheets(reference, directory)]
        except FactError as error:
            problems += (replace(each, spans=(reference.span,)) for each in error.diagnostics)
            continue
        for name, sheet in found:
            if name is None:
                sheets[sheet] = None
            else:
                known[name] = sheet
    if problems:
        raise ProfileError(diagnostics=tuple(problems))
    return {**known, **dict(zip(name_devices([*sheets], known), sheets, strict=True))}


def _sheets(reference: Reference, directory: Path) -> Iterator[tuple[str | None, Path]]:
    """Yield the sheets that a text stands for, and the names of known devices."""
    text = reference.target
    path = directory / text
    if path.is_dir():
        files = [each for each in sorted(files_below(path, _SHEET).files) if each.is_file()]
    elif text.endswith(_SHEET):
        # a file whose name looks like a pattern is meant
        pattern = str(Path(escape(str(directory))) / text)
        names = [str(path)] if path.is_file() else sorted(glob(pattern, recursive=True))  # noqa: PTH207
        files = [each for name in names if (each := Path(name)).is_file()]
    else:
        is_pattern = bool({*text} & {*"*?["})
        for name in matching_devices(text) if is_pattern else (find_device(text),):
            yield name, device_path(name)
        return
    if not files:
        message, help = f"there is no fact sheet {text!r}", _SHEET_HELP
        raise FactError(diagnostics=(Diagnostic(code="unreadable-file", message=message, help=help),))
    for file in files:
        yield None, file
