"""docs/on-device.md, followed in a shell with a compiler."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, Page
from doc_shell import Shell


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler (c++) on the PATH")
def test_the_programs_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    # what the page installs is installed here
    scripts = {"python": '"$@"', "etconfig": '-m etconfig "$@"', "pip": "-c pass"}
    for name, script in scripts.items():
        (commands / name).write_text(f"#!/bin/sh\nexec '{sys.executable}' {script}\n")
        (commands / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    home = tmp_path / "home"
    home.mkdir()
    Shell(home, environment).follow(Page(ROOT / "docs" / "on-device.md"))
