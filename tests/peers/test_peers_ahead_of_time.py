"""docs/ahead-of-time.md: ExecuTorch passes to a backend what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_pages import ROOT, Fence, Page
from doc_shell import THIS_PYTHON, Shell, reader_environment

EXAMPLE = ROOT / "examples" / "partitioner"

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]  # it exports six times


def test_the_script_of_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    Shell(tmp_path, reader_environment(THIS_PYTHON)).follow(Page(ROOT / "docs" / "ahead-of-time.md"))
    assert (tmp_path / "share.py").exists()


def test_the_example_prints_what_executorch_passes_to_a_backend(tmp_path: Path) -> None:
    shown = (EXAMPLE / "output.txt").read_text(encoding="utf-8")
    shell = Shell(tmp_path, reader_environment(THIS_PYTHON))
    command = Fence("sh", f"python {EXAMPLE / 'look.py'}\n", 1, None, shown, is_included=False)
    shell.do(Page(ROOT / "docs" / "ahead-of-time.md"), command)
