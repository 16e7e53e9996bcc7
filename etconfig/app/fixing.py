"""Repair of configuration files: the fixes of diagnostics, applied to the text.

Only the places of the fixes are edited, so comments, layout and line ends stay byte for byte. A TOML
library that keeps comments comes close to that, but writes the whole document anew.
"""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from etconfig.diagnostics import Diagnostic, Fix
from etconfig.errors import DocumentError
from etconfig.profile import Document, parse_document
from etconfig.profile.positions import KeyPath
from etconfig.records import record

_MAX_PARSED = 4 << 20
"""The most characters that are parsed in search of the fixes after which a text is still TOML."""


@record(frozen=True, kw_only=True)
class FixedFile:
    """A file before and after its repair.

    Attributes:
        path: The file.
        before: Its current text.
        after: Its text with the fixes.
        count: The number of fixes made.
    """

    path: Path
    before: str
    after: str
    count: int

    def diff(self) -> str:
        """Return the changes as a unified diff."""
        name = str(self.path)
        lines = difflib.unified_diff(_lines(self.before), _lines(self.after), fromfile=name, tofile=name)
        marked = (x if x.endswith("\n") else f"{x}\n\\ No newline at end of file\n" for x in lines)
        return "".join(marked)


def fixable(files: Iterable[Path], diagnostics: Iterable[Diagnostic]) -> list[Fix]:
    """Return the fixes of the diagnostics about `files`, each once."""
    names = {str(file) for file in files}
    return list(dict.fromkeys(d.fix for d in diagnostics if d.fix is not None and d.fix.span.file in names))


def fix_files(
    files: Sequence[Path], diagnostics: Iterable[Diagnostic], *, with_unsafe: bool = False
) -> list[FixedFile]:
    """Make the fixes that diagnostics offer, without writing; unchanged files are left out.

    Args:
        files: The files that may change. Other files that diagnostics mention, such as a profile that
            one of these extends, do not change.
        diagnostics: The problems found in the files.
        with_unsafe: Also make fixes that rest on a guess.
    """
    wanted: dict[str, list[Fix]] = {}
    for fix in fixable(files, diagnostics):
        if fix.is_safe or with_unsafe:
            wanted.setdefault(fix.span.file, []).append(fix)
    fixed = (_fix_file(path, wanted.get(str(path), [])) for path in files)
    return [file for file in fixed if file.count]


def _fix_file(path: Path, fixes: Sequence[Fix]) -> FixedFile:
    before = path.read_bytes().decode() if fixes else ""
    after, count = apply_fixes(before, fixes)
    return FixedFile(path=path, before=before, after=after, count=count)


def apply_fixes(text: str, fixes: Sequence[Fix]) -> tuple[str, int]:
    """Return the text with the fixes, and the number of fixes made.

    A fix is left out if its line has changed since, if another fix was made at the same place, or if
    the text would no longer be TOML: a renamed option may be set under both names.

    All fixes are tried at once, and halves of them where that fails, so that the text is parsed a few times
    and not once for each fix. Where very many fixes fail in a long text, good ones may be left out too.
    """
    fix_at = {(fix.span.line, fix.span.column): fix for fix in fixes}
    # From the end to the start, so that the places of the remaining fixes stay valid.
    ordered = [fix for _, fix in sorted(fix_at.items(), key=lambda item: item[0], reverse=True)]
    repair = _Repair(text)
    if not repair.make_all(ordered):
        repair.make(_without_collisions(text, ordered))
    return repair.text, repair.count


class _Repair:
    """The lines of a text, and the fixes made in them."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.count = 0
        self.unparsed = max(_MAX_PARSED, 2 * len(text))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def make(self, fixes: Sequence[Fix]) -> None:
        """Make those of the fixes, which go from the end to the start, that leave the text TOML."""
        if not self.make_all(fixes) and len(fixes) > 1:
            middle = len(fixes) // 2
            self.make(fixes[:middle])
            self.make(fixes[middle:])

    def make_all(self, fixes: Sequence[Fix]) -> bool:
        """Make all of the fixes, or none and return False if the text would no longer be TOML."""
        changed, count = self._changed_lines(fixes)
        if not count:
            return True
        before = {index: self.lines[index] for index in changed}
        self._replace(changed)
        if not self._is_toml():
            self._replace(before)
            return False
        self.count += count
        return True

    def _changed_lines(self, fixes: Iterable[Fix]) -> tuple[dict[int, str], int]:
        """Return the lines that fixes change, by index, and how many of the fixes fit their lines."""
        fixes_of: dict[int, list[Fix]] = {}
        for fix in fixes:
            if 0 < fix.span.line <= len(self.lines) and fix.span.underlined is not None:
                fixes_of.setdefault(fix.span.line - 1, []).append(fix)
        changed: dict[int, str] = {}
        count = 0
        for index, of_line in fixes_of.items():
            changed[index], made = _fixed_line(self.lines[index], of_line)
            count += made
        return changed, count

    def _replace(self, lines: Mapping[int, str]) -> None:
        for index, line in lines.items():
            self.lines[index] = line

    def _is_toml(self) -> bool:
        text = self.text
        self.unparsed -= len(text)
        return self.unparsed >= 0 and _is_toml(text)


def _fixed_line(line: str, fixes: Iterable[Fix]) -> tuple[str, int]:
    """Return a line with its fixes, which go from the end to the start, and how many of them fit it."""
    pieces: list[str] = []
    left, known, count = len(line), None, 0
    for fix in fixes:
        start, end = fix.span.column - 1, fix.span.column - 1 + fix.span.length
        text = fix.span.text or ""
        # All spans of a line share its text, so what is left of the last fix was compared with it.
        is_known = text is known or line.startswith(text[:end])
        if is_known and end <= left and line[start:end] == fix.span.underlined:
            pieces += (line[end:left], fix.replacement)
            left, known, count = start, text, count + 1
    return line[:left] + "".join(reversed(pieces)), count


def _without_collisions(text: str, fixes: Sequence[Fix]) -> list[Fix]:
    """Leave out the fixes that give a key the name of a key beside it, or one that a later fix gives."""
    if not _is_toml(text):
        return list(fixes)
    document = parse_document(text, "before")
    line_and_column = document.source.line_and_column
    keys = {line_and_column(at.key_start): path for path, at in document.positions.items()}
    names: dict[KeyPath, set[str | int]] = {}
    for path in document.positions:
        names.setdefault(path[:-1], set()).add(path[-1])
    kept: list[Fix] = []
    for fix in fixes:
        key = keys.get((fix.span.line, fix.span.column))
        name = fix.replacement.strip("'\"")
        if key is None or key[-1] != (fix.span.underlined or "").strip("'\"") or _is_table(document, key):
            kept.append(fix)  # tables of one name may go together
        elif name not in names[key[:-1]]:
            names[key[:-1]].add(name)
            kept.append(fix)
    return kept


def _is_table(document: Document, path: KeyPath) -> bool:
    found: Any = document.data
    for key in path:
        found = found[key]
    return isinstance(found, dict)


def _is_toml(text: str) -> bool:
    try:
        parse_document(text, "fixed")
    except DocumentError:
        return False
    return True


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline="\n").readlines()
