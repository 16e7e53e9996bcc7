"""The wheels of plugins that were built for plugin API 1, and their installation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WHEELS = Path(__file__).parents[1] / "data" / "plugins-api1"


def install_wheels(directory: Path) -> None:
    """Install all of them into `directory`, as a user would, but without an index."""
    options = ("--quiet", "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(directory)]
    subprocess.run([*command, *map(str, sorted(WHEELS.glob("*.whl")))], check=True, timeout=60)
