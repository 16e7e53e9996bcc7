"""A sample of the operator tests of ExecuTorch's backend test suite."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from effort import EFFORT

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

TOOL = Path(__file__).parents[2] / "tools" / "run_backend_suite.py"
EVERY = 10 if EFFORT > 1 else 80
LEAST_PASSED = 240 // EVERY


def test_a_sample_of_the_suite_passes() -> None:
    """Tests may be skipped for operators without a kernel, and for models that cannot be exported."""
    command = [sys.executable, TOOL, "--every", str(EVERY)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None
    assert int(passed[1]) >= LEAST_PASSED
