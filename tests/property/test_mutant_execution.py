"""Damaged programs that open are loaded and run: only typed errors, within memory and instructions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutations import DATA, MUTANTS, SMALL_FILES

RUNNER = Path(__file__).parents[1] / "support" / "run_mutants.py"
PROGRAMS = [path for path in SMALL_FILES if path.suffix != ".ptd"]
LARGE = [DATA / "architectures" / f"{name}.pte" for name in ("gpt2", "llama_dynamic", "unet_channels_last")]
EXPECTED = {
    *("ProgramError", "ran", "BackendUnavailableError", "KernelArgumentError", "MissingOperatorError"),
    *("InvalidInputError", "InstructionLimitError", "OutOfMemoryError"),
}


def outcomes_of(paths: list[Path], count: int) -> dict[str, int]:
    """Return the outcomes of so many mutants of each file, in a process that may take 2 GiB."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(RUNNER), str(count), *map(str, paths)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each thread reserves memory
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, int] = json.loads(done.stdout)
    return outcomes


@pytest.mark.skipif(sys.platform == "win32", reason="memory is limited by POSIX means")
class TestExecution:
    """Running a damaged program neither crashes nor hangs, and raises only etconfig's errors."""

    def test_small_programs(self) -> None:
        outcomes = outcomes_of(PROGRAMS, MUTANTS // 200)
        assert set(outcomes) <= EXPECTED
        assert outcomes["ran"] > 100
        assert outcomes["KernelArgumentError"] > 10

    def test_programs_of_whole_models(self) -> None:
        outcomes = outcomes_of(LARGE, MUTANTS // 1000)
        assert set(outcomes) <= EXPECTED
        assert outcomes["ran"] > 3
