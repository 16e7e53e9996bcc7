"""Hostile calls of the kernels that kernel_guards.cpp guards: none ends the process or writes elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "plugins" / "etconfig-executorch" / "native" / "kernel_guards.cpp"
SEEDS = ROOT / "tests" / "support" / "run_kernel_seeds.py"


def test_no_seed_of_a_guarded_kernel_ends_its_process(tmp_path: Path) -> None:
    """It takes seconds, since each of 2,500 seeds is a program."""
    guarded = set(re.findall(r'^    \{"(\S+?)", ', TABLE.read_text(encoding="utf-8"), re.MULTILINE))
    of = "|".join(f"^{re.escape(name)}$" for name in guarded)
    command = [sys.executable, str(SEEDS), "--of", of, "--most", "20", "--json", str(tmp_path / "found.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    without_recorded_call = {name for name in guarded if name.startswith("executorch_prim::")}
    assert found.keys() == guarded - without_recorded_call
