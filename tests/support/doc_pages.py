"""Pages of the documentation: their fenced blocks and tables, and how blocks are run.

tests/docs/test_docs.py explains each kind of block.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import tomli
from plugin_data import write_distribution

from etconfig.app.installation.installation import Installation
from etconfig.app.validating.validation import validate_file
from etconfig.cli.startup.command_group import run
from etconfig.expression import parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))

_FENCE = re.compile(
    r"^(?:`(?P<file>[^`\n]+)`:\n\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_INCLUDED = re.compile(r"<!-- generated: (?:source|file) .*?<!-- end -->", re.DOTALL)
_TABLE = re.compile(r"^\|(?P<head>.+)\|\n\|[-| ]+\|\n(?P<rows>(?:\|.+\|\n)+)", re.MULTILINE)
_PURE = "hatchling.build"
"""The build backend of the plugins of this repository that need no compiler."""
_VARIABLES = ("ETCONFIG_SET", "ETCONFIG_PROJECT", "ETCONFIG_PROFILE_PATH", "ETCONFIG_DISABLE_PLUGINS")


@dataclass(frozen=True)
class Fence:
    """A fenced block.

    Attributes:
        language: The word after the opening fence.

        line: The line of the opening fence.
        file: The name of the file that it defines, from a line above with only this name and a colon.
        output: The text block right after it with its output, or None. tests/peers compares the output of
            shell commands.
        is_included: True if it shows lines of a file of the repository, which `make docs` keeps current.
    """

    language: str
    text: str
    line: int
    file: str | None
    output: str | None
    is_included: bool


@dataclass(frozen=True)
class Page:
    """A Markdown file."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def prose(self) -> str:
        """The text without its fenced blocks."""
        return _FENCE.sub("", self.text)

    @cached_property
    def anchors(self) -> set[str]:
        """The anchors that a forge makes of the headings."""
        titles = re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}

    def fences(self) -> Iterator[Fence]:
        matches = list(_FENCE.finditer(self.text))
        included = [part.span() for part in _INCLUDED.finditer(self.text)]
        for match, after in zip_longest(matches, matches[1:]):
            is_shown = (
                after
                and after["language"] == "text"
                and not self.text[match.end() : after.start()].strip()
                and match["language"] in ("python", "sh")
            )
            line = self.text.count("\n", 0, match.start("text"))
            output = after["text"] if is_shown else None
            is_included = any(start < match.start() < end for start, end in included)
            yield Fence(match["language"], match["text"], line, match["file"], output, is_included)

    def tables(self, *heads: str) -> Iterator[tuple[str, ...]]:
        """The rows of the tables with these column heads, without code marks."""
        for match in _TABLE.finditer(self.text):
            if _cells(match["head"]) == heads:
                yield from (_cells(row.strip("|")) for row in match["rows"].splitlines())


def _cells(row: str) -> tuple[str, ...]:
    return tuple(cell.strip().strip("`").replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", row))


def check_shown(shown: str, given: str, place: str) -> None:
    """Fail unless a page shows the actual output.

    On the page, `...` matches any text, and alone in a line any lines; columns may have any width.
    """
    if not re.fullmatch("".join(map(_line_pattern, shown.splitlines())), given):
        pytest.fail(f"{place} shows\n{shown}\nbut it is\n{given}", pytrace=False)


def _line_pattern(line: str) -> str:
    if line.strip() == "...":
        return "(?:.*\n)*"
    pieces = (" {2,}".join(map(re.escape, re.split(" {2,}", piece))) for piece in line.split("..."))
    return ".*".join(pieces) + "\n"


class Walkthrough:
    """Follows a page block by block, in an empty directory.

    Directories of the checkout are linked into it, so that pages can use `tests/data/...`; `examples` is
    copied, so that commands may write there.
    """

    def __init__(self, page: Page, directory: Path, patch: pytest.MonkeyPatch) -> None:
        self.page = page
        self.directory = directory
        self.patch = patch
        self.names: dict[str, object] = {"__name__": "page", "__file__": str(directory / "page.py")}
        self.status = 0
        self._installed: set[str] = set()
        for name in ("plugins", "tests"):
            (directory / name).symlink_to(ROOT / name)
        shutil.copytree(ROOT / "examples", directory / "examples")
        patch.chdir(directory)
        for variable in _VARIABLES:
            patch.delenv(variable, raising=False)

    def do(self, fence: Fence) -> None:
        """Run, write or check one block."""
        place = f"{self.page.path}:{fence.line}"
        if fence.is_included:
            return
        if fence.file is not None:
            self._write(self.directory / fence.file, fence)
        elif fence.language == "python":
            self._python(fence, place)
        elif fence.language == "console":
            self._console(fence, place)
        elif fence.language == "toml":
            self._toml(fence)
        elif fence.language == "cel":
            for line in fence.text.splitlines():
                parse_expression(line, BUILTIN_FACTS)
        elif fence.language == "sh":
            for words in re.findall(r"^pip install (.+)", fence.text, re.MULTILINE):
                self.install(*shlex.split(words, comments=True))
        else:
            assert fence.language in ("text", "yaml"), f"{place}: what is {fence.language!r}?"

    def install(self, *words: str) -> None:
        """Install the words of `pip install`, directories and our packages, as far as etconfig sees them."""
        for word in words:
            root = Path(word.partition("[")[0])
            if not (root / "pyproject.toml").is_file():
                continue
            manifest = tomli.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
            if manifest["build-system"]["build-backend"] == _PURE and not self._has(manifest["project"]):
                sources = root / "src" if (root / "src").is_dir() else root
                self.patch.syspath_prepend(sources.resolve())
                self._install(self.directory / "installed" / root, manifest["project"])

    def run(self, line: str) -> str:
        """Run one command in the reader's directory, and return its output."""
        words = shlex.split(line, comments=True)
        self.status = 0
        if words[0] == "cp":
            shutil.copy(words[1], words[2])
            return ""
        if words[0] == "cd":
            self.patch.chdir(words[1])
            return ""
        with self.patch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
            while "=" in words[0]:
                patch.setenv(*words.pop(0).split("=", 1))
            assert words[0] == "etconfig", f"a console block runs etconfig, not {line!r}"
            with contextlib.redirect_stderr(sys.stdout):
                self.status = run(words[1:])
        return printed.getvalue()

    def _write(self, path: Path, fence: Fence) -> None:
        """Write a block that is a file; code that imports it runs it. Install it if it is a plugin."""
        assert path.parent.resolve().is_relative_to(self.directory.resolve()), f"{path} is in the checkout"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fence.text, encoding="utf-8")
        if fence.language == "python":
            compile(fence.text, str(path), "exec", dont_inherit=True)
        elif path.name == "pyproject.toml" and "entry-points" in fence.text:
            self._install(path.parent, tomli.loads(fence.text)["project"])

    def _has(self, project: Mapping[str, Any]) -> bool:
        """Return True if a distribution is installed, by the page or in this Python."""
        if project["name"] in self._installed:
            return True
        try:
            return bool(version(project["name"]))
        except PackageNotFoundError:
            return False

    def _install(self, root: Path, project: Mapping[str, Any]) -> None:
        """Install a package like `pip install -e`, as far as etconfig can see."""
        lines = [
            line
            for group, entries in project["entry-points"].items()
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
        ]
        directory = f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        write_distribution(root, directory, "\n".join(lines), f"Name: {project['name']}\n")
        self.patch.syspath_prepend(root)
        self._installed.add(project["name"])

    def _python(self, fence: Fence, place: str) -> None:
        # blank lines in front, so that a traceback shows the line of the page
        code = compile("\n" * fence.line + fence.text, str(self.page.path), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, self.names)
        if fence.output is not None:
            check_shown(fence.output, printed.getvalue(), place)

    def _toml(self, fence: Fence) -> None:
        """Validate a TOML block that is a piece of a document."""
        path = self.directory / "piece" / ("piece.toml" if "[profile]" in fence.text else "etconfig.toml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(fence.text, encoding="utf-8")
        assert [str(problem) for problem in validate_file(path, Installation(self.directory))] == []

    def _console(self, fence: Fence, place: str) -> None:
        """Run the commands after `$ `, and compare their output; a failing one is followed by `$ echo $?`."""
        text = fence.text.replace("\\\n", "")
        commands = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
        for command, following in zip_longest(commands, commands[1:], fillvalue=""):
            line, _, shown = command.partition("\n")
            if line == "echo $?":
                assert shown.strip() == str(self.status), place
                continue
            given = self.run(line)
            if self.status != 0 and not following.startswith("echo $?"):
                pytest.fail(f"{place}: {line}\n{given}", pytrace=False)
            if shown:
                check_shown(shown, given, place)
