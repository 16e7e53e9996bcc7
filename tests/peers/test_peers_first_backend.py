"""docs/first-backend.md and commands of other pages, followed as a reader would."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_pages import ROOT, Page
from doc_shell import THIS_PYTHON, Shell, lend_packages, reader_environment

pytestmark = [pytest.mark.peers, pytest.mark.weekly, pytest.mark.timeout(900)]  # four minutes, and a registry

ABOUT_THE_SAME_PACKAGE = ("conformance.md", "debugging.md")
"""Pages whose commands are run in the package, if they need no executorch."""


def test_following_the_page_gives_what_it_shows(tmp_path: Path, checkout: Path) -> None:
    shell = Shell(tmp_path, reader_environment(THIS_PYTHON), checkout)
    page = Page(ROOT / "docs" / "first-backend.md")
    for fence in page.fences():
        if "[aot]" in fence.text:
            assert "L1 · kit" in (tmp_path / "acme-npu" / "badge.svg").read_text(encoding="utf-8")
            for name in ABOUT_THE_SAME_PACKAGE:
                shell.follow(Page(ROOT / "docs" / name))
            lend_packages(tmp_path / ".venv")
        shell.do(page, fence)
    assert (tmp_path / "acme-npu" / "model.pte").exists()
