"""docs/native-backend.md, its first half, followed in a shell with a compiler.

Where the reader makes a virtual environment and installs from a registry, this Python and a directory stand
in. The page runs the whole conformance kit on the package that it writes, built with the system's compiler.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, Page
from doc_shell import Shell


@pytest.mark.device
@pytest.mark.timeout(400)  # the kit runs twice, once by the tests of the package
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler (c++) on the PATH")
def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    site, commands = tmp_path / "site", tmp_path / "bin"
    commands.mkdir()
    python = f"exec '{sys.executable}'"
    scripts = {
        "python": f'{python} "$@"',
        "etconfig": f'{python} -m etconfig "$@"',
        "pytest": f'{python} -m pytest -p no:cacheprovider "$@"',
    }
    for name, script in scripts.items():
        (commands / name).write_text(f"#!/bin/sh\n{script}\n")
        (commands / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(site),
    }
    shell = Shell(tmp_path, environment)
    page = Page(ROOT / "docs" / "native-backend.md")
    end = page.text.count("\n", 0, page.text.index("## Declare options"))
    for fence in page.fences():
        if fence.line > end:
            break
        if "pip install" in fence.text and fence.language == "sh":
            lines = [line for line in fence.text.splitlines() if line.startswith(("etconfig", "cd "))]
            quiet = "--quiet --no-deps --no-index --no-build-isolation"
            lines.append(f"python -m pip install {quiet} --target '{site}' .")
            fence = type(fence)(fence.language, "\n".join(lines), fence.line, None, None, False)
        shell.do(page, fence)
