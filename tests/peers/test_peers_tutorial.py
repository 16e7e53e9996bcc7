"""docs/backends.md: its ahead-of-time half writes the program that the rest of the page runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, Page
from doc_shell import Shell, lend_packages, reader_environment

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]  # it exports, and gets build tools from a registry

PROGRAM = ROOT / "tests" / "data" / "tutorial" / "model.pte"


def test_the_page_exports_the_committed_program(tmp_path: Path, checkout: Path) -> None:
    environment = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    lend_packages(environment)
    shell = Shell(tmp_path, reader_environment(environment / "bin"), checkout)
    shell.follow(Page(ROOT / "docs" / "backends.md"))
    exported = tmp_path / "model.pte"
    assert exported.read_bytes() == PROGRAM.read_bytes(), f"to accept it: cp {exported} {PROGRAM}"
