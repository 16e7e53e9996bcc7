"""Names of devices from the names of their fact sheets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from etconfig.diagnostics.escape import escape_text
from etconfig.profile.source_text import find_invisible


def name_devices(sheets: Sequence[Path], taken: Collection[str] = ()) -> list[str]:
    """Return a name for each sheet: its file name without suffix.

    If two sheets would have one name, both get as many of their directories before it as tell them apart:
    `google/pixel-8` and `spare/pixel-8`. Characters that cannot be seen are escaped.

    Args:
        sheets: Different files.
        taken: Names that other devices have already.
    """
    lengths = [1] * len(sheets)
    parts = [[*map(visible_text, _parts(sheet))] for sheet in sheets]
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


def visible_text(text: str) -> str:
    """Escape the characters of a name that are not printed, or that look like none."""
    text = escape_text(text)
    while (index := find_invisible(text)) is not None:
        text = f"{text[:index]}\\u{ord(text[index]):04x}{text[index + 1 :]}"
    return text


def _parts(sheet: Path) -> list[str]:
    """Return the names of the directories of a sheet, and that of the sheet itself."""
    is_stream = str(sheet) != sheet.__fspath__()  # standard input, read from a copy
    directories = () if is_stream else sheet.absolute().parent.parts
    return [*(each.strip("/\\") for each in directories), sheet.stem]


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
