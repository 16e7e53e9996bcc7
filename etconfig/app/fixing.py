"""Repair of configuration files: the fixes of diagnostics, applied to the text.

Only the places of the fixes are edited, so comments, layout and line ends stay byte for byte. A TOML
library that keeps comments comes close to that, but writes the whole document anew.
"""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from etconfig.diagnostics import Diagnostic, Fix
from etconfig.errors import DocumentError
from etconfig.profile import parse_document
from etconfig.records import record


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
    """
    count = 0
    fix_at = {(fix.span.line, fix.span.column): fix for fix in fixes}
    # From the end to the start, so that the places of the remaining fixes stay valid.
    for _, fix in sorted(fix_at.items(), key=lambda item: item[0], reverse=True):
        changed = _apply(text, fix)
        if changed is not None and _is_toml(changed):
            text, count = changed, count + 1
    return text, count


def _apply(text: str, fix: Fix) -> str | None:
    span = fix.span
    lines = text.split("\n")
    start, end = span.column - 1, span.column - 1 + span.length
    if not 0 < span.line <= len(lines) or span.underlined is None:
        return None
    line = lines[span.line - 1]
    if line[start:end] != span.underlined or not line.startswith((span.text or "")[:end]):
        return None
    lines[span.line - 1] = line[:start] + fix.replacement + line[end:]
    return "\n".join(lines)


def _is_toml(text: str) -> bool:
    try:
        parse_document(text, "fixed")
    except DocumentError:
        return False
    return True


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline="\n").readlines()
