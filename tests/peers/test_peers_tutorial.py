"""docs/backends.md: its ahead-of-time half writes the program that the rest of the page runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, Page, Walkthrough

pytestmark = pytest.mark.peers

PROGRAM = ROOT / "tests" / "data" / "tutorial" / "model.pte"


def test_the_page_exports_the_committed_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(ROOT / "docs" / "backends.md")
    walkthrough = Walkthrough(page, tmp_path, monkeypatch)
    for fence in page.fences():
        if fence.file is not None:
            walkthrough.do(fence)
    environment = {**os.environ, "PYTHONPATH": "acme-vector"}
    subprocess.run([sys.executable, "export.py"], cwd=tmp_path, env=environment, check=True)
    exported = tmp_path / "model.pte"
    assert exported.read_bytes() == PROGRAM.read_bytes(), f"to accept it: cp {exported} {PROGRAM}"
