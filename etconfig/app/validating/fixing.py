"""Repair of configuration files: the fixes of diagnostics, applied to the text.

Only the places of the fixes are edited, so comments, layout and line ends stay byte for byte. A TOML
library that keeps comments comes close to that, but writes the whole document anew.
"""

from __future__ import annotations

import difflib
import io
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Edit, Fix, Span
from etconfig.profile.document import Document, parse_document
from etconfig.profile.positions import KeyPath

_CONTEXT = 3
"""The lines that a unified diff shows before and after a change."""
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
        name, before, after = str(self.path), _lines(self.before), _lines(self.after)
        lines: Iterable[str]
        if len(before) == len(after):  # difflib takes the square of the time for many lines that are alike
            hunks = [*_hunks(before, after)]
            lines = (f"--- {name}\n", f"+++ {name}\n", *hunks) if hunks else ()
        else:
            lines = difflib.unified_diff(before, after, fromfile=name, tofile=name)
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
    fixed = (_fix_file(path, wanted[str(path)]) for path in files if str(path) in wanted)
    return [file for file in fixed if file.count]


def _fix_file(path: Path, fixes: Sequence[Fix]) -> FixedFile:
    before = path.read_bytes().decode()
    after, count = apply_fixes(before, fixes)
    return FixedFile(path=path, before=before, after=after, count=count)


def apply_fixes(text: str, fixes: Sequence[Fix]) -> tuple[str, int]:
    """Return the text with the fixes, and the number of fixes made.

    A fix is left out if its line has changed since, if another fix was made at the same place, or if
    the text would no longer be TOML: a renamed option may be set under both names.

    The fixes of a text that is not TOML may leave it so, where other problems remain.

    All fixes are tried at once, and halves of them where that fails, so that the text is parsed a few times
    and not once for each fix. Where very many fixes fail in a long text, good ones may be left out too.
    """
    fix_at = {(fix.span.line, fix.span.column): fix for fix in fixes}
    repair = _Repair(text)
    ordered = repair.fitting(fix for _, fix in sorted(fix_at.items(), key=lambda item: item[0]))
    if not repair.make_all(ordered):
        repair.make(_without_collisions(text, ordered))
    return repair.text, repair.count


class _Repair:
    """The lines of a text, and the fixes made in them."""

    def __init__(self, text: str) -> None:
        self.original = text.split("\n")
        self.lines = list(self.original)
        self.edits: dict[int, list[Edit]] = {}  # made so far, by index of the line
        self.count = 0
        self.unparsed = max(_MAX_PARSED, 2 * len(text))
        self.was_toml = _is_toml(text)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def fitting(self, fixes: Iterable[Fix]) -> list[Fix]:
        """Return the fixes whose lines are as they were, and whose places no other fix changes."""
        taken = _TakenPlaces(self.original)
        return [fix for fix in fixes if taken.take(fix)]

    def make(self, fixes: Sequence[Fix]) -> None:
        """Make each fix that leaves the text TOML, until too much text was parsed."""
        if self.unparsed < 0:
            return
        if not self.make_all(fixes) and len(fixes) > 1:
            middle = len(fixes) // 2
            self.make(fixes[middle:])
            self.make(fixes[:middle])

    def make_all(self, fixes: Sequence[Fix]) -> bool:
        """Make all of the fixes, or none and return False if they would break the text."""
        if not fixes:
            return True
        edits: dict[int, list[Edit]] = {}
        for fix in fixes:
            for edit in fix.edits:
                index = edit.span.line - 1
                edits.setdefault(index, list(self.edits.get(index, ()))).append(edit)
        before = {index: self.lines[index] for index in edits}
        for index, of_line in edits.items():
            self.lines[index] = _edited_line(self.original[index], of_line)
        if not self._is_kept():
            for index, line in before.items():
                self.lines[index] = line
            return False
        self.edits |= edits
        self.count += len(fixes)
        return True

    def _is_kept(self) -> bool:
        """Return True if the text is TOML, or was not: then each fix was tried when it was found."""
        if not self.was_toml:
            return True
        text = self.text
        self.unparsed -= len(text)
        return self.unparsed >= 0 and _is_toml(text)


class _TakenPlaces:
    """The places of a text that fixes change."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.texts: dict[int, str] = {}  # the text of the last span of each line
        self.places: dict[int, list[tuple[int, int]]] = {}

    def take(self, fix: Fix) -> bool:
        """Take the places of a fix, or none and return False if one is taken or has changed since."""
        if not all(self._is_free(edit.span) for edit in fix.edits):
            return False
        for edit in fix.edits:
            insort(self.places.setdefault(edit.span.line, []), _columns(edit.span))
        return True

    def _is_free(self, span: Span) -> bool:
        if not 0 < span.line <= len(self.lines) or span.text is None:
            return False
        start, end = _columns(span)
        line = self.lines[span.line - 1]
        # all spans of a line share its text, so that comparing the objects is mostly enough
        if span.text is not self.texts.get(span.line) and not line.startswith(span.text):
            return False
        self.texts[span.line] = span.text
        places = self.places.get(span.line, [])
        index = bisect_left(places, (start, end))
        is_clear = index == len(places) or end <= places[index][0]
        return end <= len(span.text) and is_clear and (not index or places[index - 1][1] <= start)


def _columns(span: Span) -> tuple[int, int]:
    return span.column - 1, span.column - 1 + span.length


def _edited_line(line: str, edits: Iterable[Edit]) -> str:
    """Return a line with all edits, which do not overlap. New lines end as this one does."""
    line_end = "\r\n" if line.endswith("\r") else "\n"
    pieces: list[str] = []
    left = 0
    for edit in sorted(edits, key=lambda edit: edit.span.column):
        start, end = _columns(edit.span)
        pieces += (line[left:start], edit.replacement.replace("\n", line_end))
        left = end
    return "".join((*pieces, line[left:]))


def _without_collisions(text: str, fixes: Sequence[Fix]) -> list[Fix]:
    """Leave out the fixes that give a key the name of a key beside it, or one that a later fix gives."""
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
    from etconfig.mistakes.toml.syntax_problems import failing_offset

    return failing_offset(text) is None


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield the hunks of a unified diff of texts of which some lines have changed, and none was added."""
    groups: list[list[int]] = []
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        if old == new:
            continue
        if groups and index - groups[-1][-1] <= 2 * _CONTEXT + 1:
            groups[-1].append(index)
        else:
            groups.append([index])
    for changed in groups:
        first, last, changed_here = changed[0], changed[-1], set(changed)
        start, end = max(0, first - _CONTEXT), min(len(before), last + 1 + _CONTEXT)
        place = str(start + 1) if end - start == 1 else f"{start + 1},{end - start}"
        yield f"@@ -{place} +{place} @@\n"
        for is_changed, run in groupby(range(start, end), changed_here.__contains__):
            indices = list(run)
            if is_changed:
                yield from (f"-{before[index]}" for index in indices)
                yield from (f"+{after[index]}" for index in indices)
            else:
                yield from (f" {before[index]}" for index in indices)


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline="\n").readlines()
