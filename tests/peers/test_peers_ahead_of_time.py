"""docs/ahead-of-time.md: ExecuTorch passes to a backend what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_pages import ROOT, Page
from doc_shell import THIS_PYTHON, Shell, reader_environment

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]  # it exports six times


def test_the_script_of_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    Shell(tmp_path, reader_environment(THIS_PYTHON)).follow(Page(ROOT / "docs" / "ahead-of-time.md"))
    assert (tmp_path / "look.py").exists()
