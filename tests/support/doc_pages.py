"""Pages of the documentation: their fenced blocks, tables and links, and how blocks are run.

What each kind of block means is told to authors in CONTRIBUTING.md, "Documentation".
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from etconfig.cli.group import run
from etconfig.installation import Installation
from etconfig.validation import validate_file

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))

NOT_RUN = {"", "sh", "text", "cel", "c++"}
"""Languages of blocks that a `Session` leaves alone: what they say is not for this machine to do."""

_FENCE = re.compile(r"^```([\w+]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"# ([\w./-]+\.(?:toml|py))\n")
_TABLE = re.compile(r"^\|(?P<head>.+)\|\n\|[-| ]+\|\n(?P<rows>(?:\|.+\|\n)+)", re.MULTILINE)


@dataclass(frozen=True)
class Fence:
    """A fenced block.

    Attributes:
        language: The word after the opening fence.
        text: What is inside.
        line: The line of the opening fence.
        output: The text block that follows at once, which shows what this one prints; or None.
    """

    language: str
    text: str
    line: int
    output: str | None = None

    @property
    def file_name(self) -> str | None:
        """The file that the block is, if its first line is a comment that names one."""
        match = _FILE_NAME.match(self.text)
        return match[1] if match else None


@dataclass(frozen=True)
class Page:
    """A Markdown file."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def prose(self) -> str:
        """The text without its fenced blocks; line numbers stay."""
        return _FENCE.sub(lambda match: "\n" * match[0].count("\n"), self.text)

    def fences(self) -> Iterator[Fence]:
        matches = list(_FENCE.finditer(self.text))
        for match, after in zip(matches, [*matches[1:], None], strict=True):
            is_shown = after and after[1] == "text" and not self.text[match.end() : after.start()].strip()
            line = self.text.count("\n", 0, match.start()) + 1
            yield Fence(match[1], match[2], line, after[2] if after and is_shown else None)

    def tables(self, *heads: str) -> Iterator[tuple[str, ...]]:
        """The rows of the tables with these column heads, code marks removed."""
        for match in _TABLE.finditer(self.text):
            if _cells(match["head"]) == heads:
                yield from (_cells(row.strip("|")) for row in match["rows"].splitlines())


def _cells(row: str) -> tuple[str, ...]:
    return tuple(cell.strip().strip("`").replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", row))


def assert_shown(shown: str, given: str) -> None:
    """What a page shows is what was given; `...` stands for any text, alone in a line for any lines."""
    pattern = "".join(
        "(?:.*\n)*" if line.strip() == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n"
        for line in shown.splitlines()
    )
    if not re.fullmatch(pattern, given):
        assert given == shown


class Session:
    """Does what a page says, block by block, in an empty directory.

    The directories of the checkout are linked into it, so that pages can name `tests/data/...`.
    """

    def __init__(self, directory: Path, patch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.patch = patch
        self.names: dict[str, object] = {"__name__": "page"}
        self.status = 0
        for name in ("examples", "plugins", "tests", "tools"):
            (directory / name).symlink_to(ROOT / name)
        patch.chdir(directory)
        patch.setenv("COLUMNS", "100")
        for variable in ("ETCONFIG_SET", "ETCONFIG_PROFILE_PATH", "ETCONFIG_DISABLE_PLUGINS"):
            patch.delenv(variable, raising=False)

    def do(self, page: Page, fence: Fence) -> None:
        if fence.file_name is not None:
            path = self.directory / fence.file_name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fence.text, encoding="utf-8")
        if fence.language == "python":
            self._python(page, fence)
        elif fence.language == "console":
            self._console(fence)
        elif fence.language == "toml":
            self._toml(fence)
        else:
            assert fence.language in NOT_RUN, f"{page.path}:{fence.line}: what is {fence.language!r}?"

    def _python(self, page: Page, fence: Fence) -> None:
        # blank lines in front, so that a traceback names the line of the page
        code = compile("\n" * fence.line + fence.text, str(page.path), "exec")
        if fence.file_name is not None:
            return  # whoever imports it runs it
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, self.names)
        if fence.output is not None:
            assert_shown(fence.output, printed.getvalue())

    def _toml(self, fence: Fence) -> None:
        """Every block of TOML is right, unless it is a file: of these, commands show what is wrong."""
        if fence.file_name is not None:
            return
        path = self.directory / "fragment" / ("p.toml" if "[profile]" in fence.text else "etconfig.toml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(fence.text, encoding="utf-8")
        assert [str(problem) for problem in validate_file(path, Installation(self.directory))] == []

    def _console(self, fence: Fence) -> None:
        """`$ ` begins a command, other lines are what it shows; `$ echo $?` tells that it fails."""
        commands = re.split(r"^\$ ", fence.text.replace("\\\n", ""), flags=re.MULTILINE)[1:]
        for index, text in enumerate(commands):
            line, _, shown = text.partition("\n")
            if line == "echo $?":
                assert shown.strip() == str(self.status)
                continue
            given = self._run(line)
            if shown:
                assert_shown(shown, given)
            is_status_shown = commands[index + 1 : index + 2] == ["echo $?"] or "echo $?" in "".join(
                commands[index + 1 : index + 2]
            )
            assert self.status == 0 or is_status_shown, given

    def _run(self, line: str) -> str:
        words = shlex.split(line)
        with self.patch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
            while "=" in words[0]:
                patch.setenv(*words.pop(0).split("=", 1))
            assert words[0] == "etconfig", f"a console block runs etconfig alone, not {line!r}"
            with contextlib.redirect_stderr(sys.stdout):
                self.status = run(words[1:])
        return printed.getvalue()


def install(site: Path, name: str, version: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Write the metadata that `pip install` would: what etconfig discovers."""
    directory = site / f"{name.replace('-', '_')}-{version}.dist-info"
    directory.mkdir(parents=True)
    (directory / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines: Sequence[str] = [
        text
        for group, entries in entry_points.items()
        for text in (f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()))
    ]
    (directory / "entry_points.txt").write_text("\n".join(lines) + "\n")
