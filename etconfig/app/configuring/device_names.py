"""Names of devices from the names of their fact sheets, and names that tell files apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from etconfig.base.source_characters import find_invisible
from etconfig.diagnostics.escape import escape_text


def name_devices(sheets: Sequence[Path], taken: Collection[str] = ()) -> list[str]:
    """Return a name for each sheet: its file name without suffix.

    If two sheets would have one name, both get as many of their directories before it as tell them apart:
    `google/pixel-8` and `spare/pixel-8`. Characters that cannot be seen are escaped.

    Args:
        sheets: Different files.
        taken: Names that other devices have already.
    """
    parts = [[*map(visible_text, _parts(sheet))] for sheet in sheets]
    return _distinct(parts, taken)


def name_files(paths: Sequence[Path]) -> list[str]:
    """Return a name for each file: its own, with as many directories as tell it apart from the others."""
    if len(paths) == 1:
        return [paths[0].name]
    directories = [[each.strip("/\\") for each in path.absolute().parent.parts] for path in paths]
    return _distinct([[*each, path.name] for each, path in zip(directories, paths, strict=True)])


def visible_text(text: str) -> str:
    """Escape the characters of a name that are not printed, or that look like none."""
    text = escape_text(text)
    while (index := find_invisible(text)) is not None:
        text = f"{text[:index]}\\u{ord(text[index]):04x}{text[index + 1 :]}"
    return text


def _parts(sheet: Path) -> list[str]:
    """Return the names of the directories of a sheet, and of the sheet itself."""
    is_stream = str(sheet) != sheet.__fspath__()  # standard input, read from a copy
    directories = () if is_stream else sheet.absolute().parent.parts
    return [*(each.strip("/\\") for each in directories), sheet.stem]


def _distinct(parts: Sequence[Sequence[str]], taken: Collection[str] = ()) -> list[str]:
    """Return names that consist of the last one of their parts, or of as many as make them distinct."""
    lengths = [1] * len(parts)
    while True:
        names = ["/".join(each[-length:]) for each, length in zip(parts, lengths, strict=True)]
        counts = Counter([*names, *taken])
        longer = [
            index
            for index, name in enumerate(names)
            if counts[name] > 1 and lengths[index] < len(parts[index])
        ]
        if not longer:
            return _numbered(names, taken)
        for index in longer:
            lengths[index] += 1


def _numbered(names: Sequence[str], taken: Collection[str]) -> list[str]:
    """Tell the last ones apart: files whose names differ in their suffixes alone, or in escapes."""
    found: list[str] = []
    used = {*taken, *names}
    seen = {*taken}
    for name in names:
        number, unique = 2, name
        while unique in seen or (unique != name and unique in used):
            unique, number = f"{name} ({number})", number + 1
        seen.add(unique)
        found.append(unique)
    return found
