"""The commands `python`, `etconfig` and `pip` of this environment, for pages that are followed in a shell."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def write_commands(directory: Path) -> dict[str, str]:
    """Write the commands to a new directory, and return the variables of a shell that finds them first."""
    directory.mkdir()
    # what a page installs is installed here
    scripts = {"python": '"$@"', "etconfig": '-m etconfig "$@"', "pip": "-c pass"}
    for name, script in scripts.items():
        (directory / name).write_text(f"#!/bin/sh\nexec '{sys.executable}' {script}\n")
        (directory / name).chmod(0o755)
    return {**os.environ, "PATH": f"{directory}{os.pathsep}{os.environ['PATH']}"}
