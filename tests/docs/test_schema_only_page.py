"""docs/schema-only.md, followed with a compiler; tests/docs/test_docs.py runs all but its C++ program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from doc_pages import ROOT, Page, Walkthrough, check_shown


@pytest.mark.usefixtures("clean_modules")  # the page's package has the name of a fixture distribution
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler (c++) on the PATH")
def test_the_program_of_the_page_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(ROOT / "docs" / "schema-only.md")
    walkthrough = Walkthrough(page, tmp_path, monkeypatch)
    compiled = 0
    for fence in page.fences():
        if fence.language == "sh" and fence.text.startswith("c++"):
            done = subprocess.run(["sh", "-ec", fence.text], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert fence.output is not None
            check_shown(fence.output, done.stdout, f"{page.path}:{fence.line}")
            compiled += 1
        elif compiled == 0:
            walkthrough.do(fence)
    assert compiled == 1
