"""The README of etconfig-executorch, followed block by block on the real runtime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[2]

FOLLOW = """
import sys
from pathlib import Path
import numpy as np
import pytest
from doc_pages import Page, Walkthrough

page = Page(Path(sys.argv[1]))
with pytest.MonkeyPatch.context() as patch:
    walkthrough = Walkthrough(page, Path.cwd(), patch)
    np.save("x.npy", np.ones(eval(sys.argv[2]), np.float32))
    library = Path("piece/build/libmine.so")  # which the project file names
    library.parent.mkdir(parents=True)
    library.touch()
    for fence in page.fences():
        walkthrough.do(fence)
print("followed")
"""


def test_a_reader_who_follows_the_readme_gets_what_it_shows(tmp_path: Path) -> None:
    """It runs in its own process, since the runtime keeps the options that the page sets."""
    import etconfig

    program = etconfig.load_program(ROOT / "tests/data/programs/xnnpack.pte")
    sizes = program.metadata("forward").input_tensor_meta(0).sizes()
    readme = ROOT / "plugins/etconfig-executorch/README.md"
    path = f"import sys; sys.path[:0] = [{str(ROOT / 'tests/support')!r}]\n"
    done = subprocess.run(
        [sys.executable, "-c", path + FOLLOW, readme, repr(sizes)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("followed\n"), done.stdout + done.stderr
