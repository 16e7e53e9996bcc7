"""`Rules`: which findings are errors, warnings or notes, and which nobody wants to see.

A level is a `Severity`, or None for `off`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from etconfig.base.records import record
from etconfig.diagnostics.diagnostic import Diagnostic, Severity

OFF = "off"

LEVELS: Mapping[str, Severity | None] = {**{each.value: each for each in Severity}, OFF: None}
"""The levels by name."""

ALWAYS_ERRORS = frozenset(
    {
        "document-too-large",
        "expression-too-large",
        "extends-outside-tree",
        "extends-too-deep",
        "invalid-rule",
        "invalid-toml",
        "invisible-character",
        "untrusted-file",
    }
)
"""The codes whose level nobody can change: they guard against files of strangers and against texts that look
like others, and the rules themselves. Of a file that is not TOML, nothing else is known."""


@record(frozen=True)
class FileRules:
    """The levels of codes in some files.

    Attributes:
        paths: Patterns of paths, relative to the project file: `*` and `?` do not cross a slash, `**` stands
            for any directories, and a directory for all in it.
        levels: The levels by code.
    """

    paths: tuple[str, ...]
    levels: Mapping[str, Severity | None]


@record(frozen=True, kw_only=True)
class Rules:
    """The levels that a project gives to codes; a code without one keeps the level of each finding.

    Attributes:
        levels: The levels by code, in all files.
        of_files: The levels in some files; of several that name a code, the last one counts.
        directory: The directory of the project file.
    """

    levels: Mapping[str, Severity | None] = field(default_factory=dict)
    of_files: Sequence[FileRules] = ()
    directory: Path | None = None
    _known: dict[str, Mapping[str, Severity | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __bool__(self) -> bool:
        return bool(self.levels or self.of_files)

    def level(self, problem: Diagnostic) -> Severity | None:
        """Return the level of a finding."""
        file = problem.spans[0].file if problem.spans else None
        if problem.code == "unreadable-file" and problem.spans and problem.spans[0].text is None:
            return problem.severity  # the place is the file itself, of which nothing was checked
        levels = self.levels if file is None or not self.of_files else self._in_file(file)
        return levels.get(problem.code, problem.severity)

    def _in_file(self, file: str) -> Mapping[str, Severity | None]:
        if file not in self._known:
            path = self._parts(file)
            levels = dict(self.levels)
            for each in self.of_files:
                if any(_matches(pattern, path) for pattern in each.paths):
                    levels.update(each.levels)
            self._known[file] = levels
        return self._known[file]

    def applied(self, problem: Diagnostic) -> Diagnostic | None:
        """Return a finding with its level; None if it is off."""
        level = self.level(problem)
        if level is None or level is problem.severity:
            return None if level is None else problem
        return replace(problem, severity=level)

    def described(self, code: str) -> str | None:
        """Return the level of a code in words, such as `off; error in profiles/acme`; None if it has none."""
        texts = [_level_name(self.levels[code])] if code in self.levels else []
        of_files = [each for each in self.of_files if code in each.levels]
        texts += [f"{_level_name(each.levels[code])} in {', '.join(each.paths)}" for each in of_files]
        return "; ".join(texts) or None

    def _parts(self, file: str) -> Sequence[str]:
        try:
            return Path(os.path.relpath(file, self.directory)).parts
        except ValueError:  # another drive, or a name that no path has
            return (file,)


def _level_name(level: Severity | None) -> str:
    return OFF if level is None else level.value


def _matches(pattern: str, path: Sequence[str]) -> bool:
    """Return True if a pattern names a path, or a directory above it.

    It follows all ways to match at once, so that no pattern takes long.
    """
    parts = [each for each in pattern.split("/") if each not in ("", ".")]
    parts = [each for at, each in enumerate(parts) if each != "**" or parts[at - 1 : at] != ["**"]]
    reached = {*_from(parts, 0)}
    for part in path:
        if len(parts) in reached:
            return True
        reached = {
            after
            for at in reached
            if at < len(parts) and (parts[at] == "**" or fnmatchcase(part, parts[at]))
            for after in _from(parts, at if parts[at] == "**" else at + 1)
        }
    return len(parts) in reached


def _from(parts: Sequence[str], at: int) -> Iterator[int]:
    """Yield the places in a pattern that can be reached from one without a further part of the path."""
    yield at
    while at < len(parts) and parts[at] == "**":
        at += 1
        yield at
