"""Does what the `sh` blocks of a page say; tests/peers, since that takes executorch or a registry."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from doc_pages import Fence, Page, check_shown


class Shell:
    """A reader's shell: follows a page, block by block, from one directory to the next.

    Args:
        page: The page.
        directory: Where the reader begins; the files of the page are written there.
        environment: The variables, all of them.

    Attributes:
        environment: The same; `activate` of a virtual environment, for instance, is kept.
    """

    def __init__(self, page: Page, directory: Path, environment: Mapping[str, str]) -> None:
        self.page = page
        self.environment = dict(environment)
        self._home = self._here = directory

    def do(self, fence: Fence) -> None:
        """Write the block if it is a file; run it if it is one of commands, and compare what is shown."""
        if fence.file is not None:
            (self._home / fence.file).write_text(fence.text, encoding="utf-8")
        elif fence.language == "sh":
            self._run(fence, f"{self.page.path}:{fence.line}")

    def _run(self, fence: Fence, place: str) -> None:
        state = self._home / ".state"
        script = f"set -euo pipefail\n{fence.text}\n{{ pwd; env -0; }} >'{state}'\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._here,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{place}\n{done.stdout}{done.stderr}"
        if fence.output is not None:
            check_shown(fence.output, done.stdout, place)
        here, _, variables = state.read_text(encoding="utf-8").partition("\n")
        self._here = Path(here)
        self.environment = dict(each.split("=", 1) for each in variables.split("\0") if each)
