"""examples/acme_vector: its ahead-of-time half writes the program that other tests run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, Fence, Page
from doc_shell import Shell, lend_packages, reader_environment

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]  # it exports, and gets build tools from a registry

LINES = """\
pip install . -e examples/acme_vector
pip install -e "examples/acme_vector[aot]"
python examples/acme_vector/export.py
"""
PROGRAM = ROOT / "tests" / "data" / "tutorial" / "model.pte"


def test_the_example_exports_the_committed_program(tmp_path: Path, checkout: Path) -> None:
    environment = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    lend_packages(environment)
    shell = Shell(tmp_path, reader_environment(environment / "bin"), checkout)
    readme = Page(ROOT / "examples" / "acme_vector" / "README.md")
    shell.do(readme, Fence("sh", LINES, 1, None, None, is_included=False))
    exported = tmp_path / "model.pte"
    assert exported.read_bytes() == PROGRAM.read_bytes(), f"to accept it: cp {exported} {PROGRAM}"
