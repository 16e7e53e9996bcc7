"""Fixtures of the tests against real ExecuTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheels of all packages in `dist`, which `make dist` built with its own set-up."""
    directory = tmp_path_factory.mktemp("checkout")
    built = (f"DIST={directory / 'dist'}", f"VENV={directory / 'venv'}", f"PYTHON={sys.executable}")
    done = subprocess.run(
        ["make", "-C", ROOT, "dist", *built], capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return directory
