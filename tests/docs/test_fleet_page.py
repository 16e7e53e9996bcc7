"""The pages about fleets and their use, followed as a reader does."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from doc_pages import ROOT, Page
from doc_shell import THIS_PYTHON, Shell, reader_environment

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(find_spec("duckdb") is None, reason="needs the extra etconfig[fleet]"),
]


@pytest.mark.parametrize("name", ["fleet", "usage"])
def test_the_page_shows_what_the_commands_print(tmp_path: Path, name: str) -> None:
    shell = Shell(tmp_path, reader_environment(THIS_PYTHON))
    page = Page(ROOT / "docs" / f"{name}.md")
    for fence in page.fences():
        if not fence.text.startswith("pip install"):
            shell.do(page, fence)
