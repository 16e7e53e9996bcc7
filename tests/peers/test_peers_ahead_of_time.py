"""docs/ahead-of-time.md: ExecuTorch shows a backend what the page says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, Page
from doc_shell import Shell

pytestmark = pytest.mark.peers


def test_the_script_of_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = Shell(tmp_path, {**os.environ, "PATH": path})
    shell.follow(Page(ROOT / "docs" / "ahead-of-time.md"))
    assert (tmp_path / "look.py").exists()
