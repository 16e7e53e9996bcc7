"""The examples of the README, run as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from etconfig_tvm.threads import usable_cores

README = Path(__file__).parents[1] / "README.md"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PAIRS = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = _PAIRS.findall(README.read_text())


def test_there_is_an_example_of_each_use() -> None:
    assert len(EXAMPLES) == 2
    assert len(EXAMPLES[0][0].strip().splitlines()) <= 15


@pytest.mark.engines
@pytest.mark.parametrize("index", range(len(EXAMPLES)))
def test_an_example_prints_what_the_readme_says(index: int, tmp_path: Path) -> None:
    code, expected = EXAMPLES[index]
    (profile,) = (text for kind, text in _FENCE.findall(README.read_text()) if kind == "toml")
    (tmp_path / "board.toml").write_text(profile)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.stdout == expected, done.stderr


@pytest.mark.engines
def test_the_example_runs_two_sessions_with_different_threads(tmp_path: Path) -> None:
    script = README.parents[2] / "examples" / "standalone" / "tvm" / "run.py"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
    )
    left, right = done.stdout.splitlines()
    count = min(len(usable_cores()), 2)
    assert re.fullmatch(r"left: 1 threads \(read back\), [0-9.]+ ms", left), done.stderr
    assert re.fullmatch(rf"right: {count} threads \(read back\), [0-9.]+ ms", right)
