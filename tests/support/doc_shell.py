"""Runs the `sh` blocks of pages, for tests/peers, since they need executorch or a registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from doc_pages import Fence, Page, check_shown


def reader_environment(python: Path) -> dict[str, str]:
    """Return the environment of a reader whose Python is in this directory, without Python's variables."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**inherited, "PATH": f"{python}{os.pathsep}{inherited['PATH']}"}


def lend_packages(environment: Path) -> None:
    """Let a virtual environment find the packages of this one, to avoid downloading executorch again.

    All but ours, which pages install from a checkout.
    """
    lent = environment / "lent"
    lent.mkdir()
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if "etconfig" not in package.name and package.suffix != ".pth":
            (lent / package.name).symlink_to(package)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "peers.pth").write_text(f"{lent}\n", encoding="utf-8")


THIS_PYTHON = Path(sys.executable).parent
"""The directory of the commands of this environment."""


class Shell:
    """A reader's shell: commands can change the directory and variables for later ones.

    Args:
        directory: The directory to start in; files of a page are written there.
        environment: All of its variables.
        checkout: What `pip install` reads of a checkout; it is copied to the directory, to which `$CHECKOUT`
            leads. None for pages that install nothing of ours.
    """

    def __init__(self, directory: Path, environment: Mapping[str, str], checkout: Path | None = None) -> None:
        self._home = self._here = directory
        self._environment = dict(environment)
        if checkout is not None:
            shutil.copytree(checkout, directory, dirs_exist_ok=True)
            self._environment["CHECKOUT"] = str(directory)

    def follow(self, page: Page) -> None:
        """Follow a whole page."""
        for fence in page.fences():
            self.do(page, fence)

    def do(self, page: Page, fence: Fence) -> None:
        """Write the block if it is a file; run it if it has commands, and compare their output."""
        if fence.file is not None:
            path = self._home / fence.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fence.text, encoding="utf-8")
        elif fence.language == "sh":
            self._run(fence, f"{page.path}:{fence.line}")

    def _run(self, fence: Fence, place: str) -> None:
        state = self._home / ".state"
        script = f"set -euo pipefail\n{fence.text}\n{{ pwd; env -0; }} >'{state}'\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._here,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{place}\n{done.stdout}{done.stderr}"
        if fence.output is not None:
            check_shown(fence.output, done.stdout, place)
        here, _, variables = state.read_text(encoding="utf-8").partition("\n")
        self._here = Path(here)
        self._environment = dict(each.split("=", 1) for each in variables.split("\0") if each)
