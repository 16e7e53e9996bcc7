"""docs/ahead-of-time.md: ExecuTorch shows a backend what the page says."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, Page, Walkthrough, check_shown

pytestmark = pytest.mark.peers


def test_the_scripts_of_the_page_print_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(ROOT / "docs" / "ahead-of-time.md")
    walkthrough = Walkthrough(page, tmp_path, monkeypatch)
    runs = 0
    for fence in page.fences():
        if fence.file is not None:
            walkthrough.do(fence)
        elif fence.language == "sh" and fence.output is not None:
            python, *arguments = shlex.split(fence.text)
            assert python == "python"
            done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            check_shown(fence.output, done.stdout, f"{page.path}:{fence.line}")
            runs += 1
    assert runs == 1
