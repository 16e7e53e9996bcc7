"""Repair configuration files: apply the fixes of diagnostics to the text, and leave the rest as it is.

The text is edited where a fix says so, and nowhere else: comments, layout and line ends stay byte for
byte. (Writing the document anew with a TOML library that keeps comments would come close to that.)
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
    """A file before and after it is repaired.

    Attributes:
        path: The file.
        before: Its text as it is.
        after: Its text with the fixes.
        count: How many fixes were made.
    """

    path: Path
    before: str
    after: str
    count: int

    def diff(self) -> str:
        """What changes, as a unified diff."""
        name = str(self.path)
        lines = difflib.unified_diff(_lines(self.before), _lines(self.after), fromfile=name, tofile=name)
        marked = (x if x.endswith("\n") else f"{x}\n\\ No newline at end of file\n" for x in lines)
        return "".join(marked)


def fixable(files: Iterable[Path], diagnostics: Iterable[Diagnostic]) -> list[Fix]:
    """The fixes, each once, of those diagnostics that are about one of `files`."""
    names = {str(file) for file in files}
    return list(dict.fromkeys(d.fix for d in diagnostics if d.fix is not None and d.fix.span.file in names))


def fix_files(
    files: Sequence[Path], diagnostics: Iterable[Diagnostic], *, with_unsafe: bool = False
) -> list[FixedFile]:
    """Make the fixes that diagnostics offer; nothing is written. Files that stay as they are are left out.

    Args:
        files: The files that may change; others that diagnostics speak of, such as a profile that
            one of them extends, may not.
        diagnostics: What was found in them.
        with_unsafe: Make fixes that rest on a guess too.
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
    """The text with the fixes made, and how many were.

    A fix is left out where the line is no longer what it was, where another fix was made at the same
    place, or where the text would no longer be TOML: a renamed option may be set under both names.
    """
    count = 0
    fix_at = {(fix.span.line, fix.span.column): fix for fix in fixes}
    # From the end to the start, so that the places of the fixes to come stay true.
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
