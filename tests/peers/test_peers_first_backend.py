"""docs/first-backend.md and commands of other pages, followed as a reader would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, Page
from doc_shell import THIS_PYTHON, Shell, lend_packages, reader_environment

pytestmark = [pytest.mark.peers, pytest.mark.timeout(900)]  # it installs packages from a registry

ABOUT_THE_SAME_PACKAGE = ("conformance.md", "packaging.md", "debugging.md")
"""Pages whose commands are run in the package, if they need no executorch."""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel of this checkout, in place of the release."""
    directory = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", directory, ROOT]
    subprocess.run(command, check=True)
    return directory


def test_following_the_page_gives_what_it_shows(tmp_path: Path, wheels: Path) -> None:
    variables = {**reader_environment(THIS_PYTHON), "PIP_FIND_LINKS": str(wheels)}
    shell = Shell(tmp_path, variables)
    page = Page(ROOT / "docs" / "first-backend.md")
    for fence in page.fences():
        if "[aot]" in fence.text:
            assert "L1 · kit" in (tmp_path / "acme-npu" / "badge.svg").read_text(encoding="utf-8")
            for name in ABOUT_THE_SAME_PACKAGE:
                shell.follow(Page(ROOT / "docs" / name))
            lend_packages(tmp_path / ".venv")
        shell.do(page, fence)
    assert (tmp_path / "acme-npu" / "model.pte").exists()
