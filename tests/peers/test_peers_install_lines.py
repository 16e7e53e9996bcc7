"""Every line of the documentation that installs something, run by a newcomer at the root of a checkout.

The newcomer has a checkout and a registry: no wheel of torch at hand, no cache of pip, no configuration.
Lines that bring torch are only resolved, which saves gigabytes. The real runtime takes minutes to compile, so
it comes from a wheel.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from doc_pages import ROOT, Page
from install_lines import EVERY_PAGE, newcomer_environment, packages_in_report

pytestmark = [pytest.mark.peers, pytest.mark.timeout(900)]  # they install from a registry

_EXTRA = re.compile(r"\baot\b")
_NATIVE = re.compile(r"""(?<=\s)"?\S+/plugins/etconfig-executorch"?""")


class Newcomer:
    """A user with an empty home directory, at the root of a checkout, with a new virtual environment.

    Args:
        directory: An empty directory.
        checkout: A copy of the checkout; the user has one of their own.
    """

    def __init__(self, directory: Path, checkout: Path) -> None:
        self.home, self.here = directory / "home", directory / "here"
        self.home.mkdir()
        shutil.copytree(checkout, self.here)
        subprocess.run([sys.executable, "-m", "venv", directory / "venv"], check=True)
        environment = newcomer_environment(self.home, directory / "venv" / "bin")
        self.environment: Mapping[str, str] = {**environment, "CHECKOUT": str(self.here)}

    def run(self, line: str) -> str:
        """Run one line in the newcomer's shell; return what it prints."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.here,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def install(self, line: str) -> None:
        """Run a line that installs; of one that brings torch, let pip decide what it would install."""
        if not _EXTRA.search(line):
            self.run(line)
            return
        self.run("python -m pip install --quiet --upgrade pip")  # before 23.3, it downloads nonetheless
        report = self.home / "report.json"
        self.run(f"{line.replace('pip install', 'pip install --dry-run --quiet', 1)} --report {report}")
        would_be = packages_in_report(report)
        assert would_be["executorch"].startswith("1.5.")
        assert would_be["torch"].startswith("2.13.")


@pytest.fixture
def newcomer(tmp_path: Path, checkout: Path) -> Newcomer:
    return Newcomer(tmp_path, checkout)


def commands(page: Page) -> Iterator[str]:
    """Yield what a reader of a page types to write packages and to install them, with the files."""
    for fence in page.fences():
        if fence.language in ("sh", "console") and fence.file is None:
            for line in fence.text.splitlines():
                command = line.removeprefix("$ ").partition("  #")[0].rstrip()
                if re.match(r"pip install |etconfig new-backend |cd acme-\w+$", command):
                    yield command


FRONT = ROOT / "docs" / "install.md"
PAGES = [
    FRONT,
    *(
        page
        for page in EVERY_PAGE
        # the template's page is for a reader of the package that it becomes
        if any(line.startswith("pip") for line in set(commands(Page(page))) - set(commands(Page(FRONT))))
        and "templates" not in page.parts
    ),
]
"""The page about installing, and the pages with lines that it lacks."""


def in_a_run(path: Path) -> Any:
    """Leave all pages but two to `make weekly`."""
    marks = () if path in (FRONT, ROOT / "docs" / "first-backend.md") else pytest.mark.weekly
    return pytest.param(path, marks=marks, id=path.relative_to(ROOT).as_posix())


@pytest.mark.parametrize("path", [*map(in_a_run, PAGES)])
def test_a_newcomer_can_install_what_a_page_says(path: Path, newcomer: Newcomer) -> None:
    """The lines that compile the real runtime are left out."""
    follow(Page(path), newcomer, None)


@pytest.mark.weekly
@pytest.mark.parametrize("name", ["docs/install.md", "docs/native-backend.md"])
def test_a_newcomer_can_install_the_real_runtime(name: str, newcomer: Newcomer, native_wheel: Path) -> None:
    assert any(map(_NATIVE.search, commands(Page(ROOT / name))))
    follow(Page(ROOT / name), newcomer, native_wheel)


def follow(page: Page, newcomer: Newcomer, native_wheel: Path | None) -> None:
    """Write the project file of a page, and run its lines that install."""
    for fence in page.fences():
        if fence.text.startswith("[plugins.prefer]"):
            (newcomer.here / "etconfig.toml").write_text(fence.text, encoding="utf-8")
    for command in commands(page):
        if command.startswith("cd "):
            newcomer.here /= shlex.split(command)[1]
        elif command.startswith("etconfig new-backend"):
            newcomer.run(command)
        elif native_wheel is not None:
            newcomer.install(_NATIVE.sub(str(native_wheel), command))
        elif not _NATIVE.search(command):
            newcomer.install(command)
    newcomer.run("if command -v etconfig; then etconfig doctor; fi")


def test_nothing_but_the_checkout_is_at_hand(newcomer: Newcomer) -> None:
    """The environment of these tests is the one that they promise."""
    shown = newcomer.run("pip config list; pip list --format freeze")
    assert "find-links" not in shown
    assert "extra-index-url" not in shown
    assert not re.search("torch|numpy", shown)
