"""The pages about devices, followed in a shell with a compiler."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from doc_pages import ROOT, Page
from doc_shell import Shell
from reader_commands import write_commands

OTHER_TOOLS = ("## In Java", "## In Kotlin", "## In Swift")
"""Sections whose commands need other tools; tests/device/test_device_java.py follows them."""


@pytest.mark.device
@pytest.mark.timeout(400)  # compilers take long where processors are busy
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler (c++) on the PATH")
@pytest.mark.parametrize("name", ["on-device.md", "device-api.md", "bundle.md"])
def test_the_programs_of_the_page_print_what_it_shows(name: str, tmp_path: Path) -> None:
    page = Page(ROOT / "docs" / name)
    home = tmp_path / "home"
    home.mkdir()
    shell = Shell(home, write_commands(tmp_path / "bin"))
    lines = page.text.splitlines()
    for fence in page.fences():
        heading = next(line for line in reversed(lines[: fence.line]) if line.startswith(("# ", "## ")))
        if heading not in OTHER_TOOLS:
            shell.do(page, fence)
