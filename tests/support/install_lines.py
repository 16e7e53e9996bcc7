"""The `pip install` commands of the documentation, and the environment of a newcomer who runs them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from doc_pages import PAGES, ROOT

EVERY_PAGE = [
    *PAGES,
    *sorted((ROOT / "docs" / "diagnostics").glob("*.md")),
    *sorted((ROOT / "plugins").glob("*/README.md")),
    *sorted((ROOT / "etconfig" / "templates").glob("*/README.md")),
]

_COMMAND = re.compile(r"(?<![\w-])pip install (?P<words>[^`\n]+)")
_OWN_PATH = re.compile(r"(?:\.|\$CHECKOUT)(?:/plugins/(?P<plugin>etconfig-[a-z]+))?(?P<extras>\[[a-z,]+\])?")
_OPTIONS_WITH_VALUE = {"--find-links", "--index-url"}


@dataclass(frozen=True)
class InstallLine:
    """A `pip install` command of a page.

    Attributes:
        place: The page and line.
        text: The command, without the path of pip.
    """

    place: str
    text: str

    @property
    def words(self) -> list[str]:
        """The words after `pip install`, as a shell reads them, without variables being replaced."""
        return shlex.split(self.text, comments=True)[2:]

    @property
    def sources(self) -> list[str]:
        """The values of `--find-links`."""
        return [
            value for word, value in zip(self.words, self.words[1:], strict=False) if word == "--find-links"
        ]

    @property
    def requirements(self) -> list[str]:
        """The words that say what to install; directories of a checkout are named after their packages."""
        before = ["", *self.words]
        return [
            word if previous == "-e" else _named(word)
            for word, previous in zip(self.words, before, strict=False)
            if not word.startswith("-") and previous not in _OPTIONS_WITH_VALUE
        ]


def _named(word: str) -> str:
    found = _OWN_PATH.fullmatch(word)
    return word if found is None else f"{found['plugin'] or 'etconfig'}{found['extras'] or ''}"


def install_lines(page: Path) -> Iterator[InstallLine]:
    """Yield the commands of a page, in its blocks and in its sentences.

    Those that messages of etconfig contain, such as `reinstall acme-broken: pip install ...`, end at a
    parenthesis, and are included, too.
    """
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for found in _COMMAND.finditer(line):
            words = re.split(r" \(|; ", found["words"])[0]
            yield InstallLine(f"{page.relative_to(ROOT)}:{number}", f"pip install {words.strip()}")


def newcomer_environment(home: Path, commands: Path) -> dict[str, str]:
    """Return the environment of a user who has never installed anything.

    The home directory is empty, pip has no cache, no configuration and no wheels of its own, only the
    index and the certificates that this machine needs to reach a registry.

    Args:
        home: An empty directory.
        commands: The directory of the Python and the commands of the user's virtual environment.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PIP_", "VIRTUAL_ENV", "XDG_"))
    }
    own = {"PIP_CERT": os.environ.get("PIP_CERT"), "PIP_INDEX_URL": _configured_index()}
    return {
        **kept,
        **{name: value for name, value in own.items() if value},
        "HOME": str(home),
        "PATH": f"{commands}{os.pathsep}{kept['PATH']}",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def _configured_index() -> str | None:
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return os.environ.get("PIP_INDEX_URL") or done.stdout.strip() or None


def packages_in_report(report: Path) -> dict[str, str]:
    """Return the name and version of every distribution that `pip install --report` lists."""
    installed = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {each["metadata"]["name"].lower(): each["metadata"]["version"] for each in installed}
