"""examples/schema_only/app.cpp, built beside the files that docs/native-backend.md writes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from doc_pages import ROOT, Page, Walkthrough

PRINTED = """\
power_mode = 2 (method)
num_threads = 4 (method)
use_cache = true (method)
cache_dir = /var/cache/dsp (process)
"""


@pytest.mark.usefixtures("clean_modules")  # the page's package has the name of a fixture distribution
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler (c++) on the PATH")
def test_an_app_prints_the_options_that_the_page_packs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(ROOT / "docs" / "native-backend.md")
    walkthrough = Walkthrough(page, tmp_path, monkeypatch)
    for fence in page.fences():
        walkthrough.do(fence)
    build = "c++ -std=c++17 -Iinclude examples/schema_only/app.cpp -o app && ./app"
    done = subprocess.run(["sh", "-ec", build], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr
