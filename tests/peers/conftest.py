"""Fixtures of the tests against real ExecuTorch."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT

_INSTALLED = (
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "docs/diagnostics",
    "etconfig",
    "profiles",
    "sheets",
    "plugins",
    "examples",
)


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what `pip install` reads of a checkout."""
    directory = tmp_path_factory.mktemp("checkout")
    for name in _INSTALLED:
        if (ROOT / name).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
            shutil.copytree(ROOT / name, directory / name, ignore=unwanted)
        else:
            shutil.copy(ROOT / name, directory)
    return directory


@pytest.fixture(scope="session")
def native_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the real runtime, which `make dist-native` built with its own set-up, in minutes."""
    directory = tmp_path_factory.mktemp("native")
    built = (f"DIST={directory / 'dist'}", f"VENV={directory / 'venv'}", f"PYTHON={sys.executable}")
    done = subprocess.run(
        ["make", "-C", ROOT, "dist-native", *built], capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (directory / "dist").glob("*.whl")
    return wheel
