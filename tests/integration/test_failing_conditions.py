"""A condition that cannot be computed does not hold, in `match` and in `[[when]]` alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome

FAILING = "8 / (cpu.logical_cores - cpu.available_cores) > 1"
EQUAL_CORES = ("--fact", "cpu.logical_cores=4")
"""With the 4 available cores of the device, the divisor is 0."""
MORE_CORES = ("--fact", "cpu.logical_cores=6")
ON_PATH = ("--profile-path", "profiles")


@pytest.fixture
def board(place: Path) -> Path:
    path = place / "profiles" / "acme" / "board.toml"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'[profile]\nname = "acme/board"\nextends = ["generic/linux-x86_64"]\nmatch = "{FAILING}"\n'
        f'[[when]]\nif = "{FAILING}"\n[when.options.ReferenceCpuBackend]\nnum_threads = 3\n'
    )
    return path


def test_match_does_not_hold_and_says_why(board: Path, cli: Callable[..., Outcome]) -> None:
    done = cli("profiles", "match", "acme/board", *ON_PATH, *ON_DEVICE, *EQUAL_CORES)
    assert done.status == 0
    assert f"acme/board  no       {FAILING} has no value: 8 / 0 divides by zero\n" in done.stdout
    assert done.stdout.endswith("\nauto selects generic/linux-x86_64\n")
    matching = cli("profiles", "match", *ON_PATH, *ON_DEVICE, *MORE_CORES)
    assert matching.stdout.endswith("\nauto selects acme/board\n")


def test_an_overlay_does_not_apply(board: Path, cli: Callable[..., Outcome]) -> None:
    option = ("explain", "ReferenceCpuBackend.num_threads", "--profile", str(board), *ON_DEVICE)
    done = cli(*option, *EQUAL_CORES)
    assert (done.status, done.stderr) == (0, "")
    assert "num_threads = 4\n  from default" in done.stdout
    assert "num_threads = 3\n  from profile" in cli(*option, *MORE_CORES).stdout
