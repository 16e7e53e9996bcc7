"""Programs and data files that older releases of ExecuTorch wrote, with constants in their old places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import DATA
from kernel_cases import assert_close

from etconfig.errors import UnsupportedProgramError
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor import load_method
from etconfig.program.external_data import DataSources
from etconfig.program.program import open_program

OLDER = DATA / "older"
KERNELS = builtin_kernels()


def check_runs(path: Path, data: DataSources = ()) -> None:
    """Check three runs against PyTorch; the method counts them."""
    method = load_method(open_program(path, data=data), "forward", KERNELS, {})
    with np.load(OLDER / "answers.npz") as answers:
        for run in range(3):
            assert_close(method.execute([answers[f"in{run}"]])[0], answers[f"out{run}"])


@pytest.mark.parametrize("release", ["0.4.0", "0.5.0", "0.6.0", "0.7.0", "1.0.0"])
def test_a_program_of_an_older_release_runs(release: str) -> None:
    check_runs(OLDER / f"{release}.pte")


@pytest.mark.parametrize("release", ["0.7.0", "1.0.0"])
def test_a_data_file_of_an_older_release_is_read(release: str) -> None:
    check_runs(OLDER / f"{release}_external.pte", OLDER / f"{release}_external.ptd")


def test_a_data_file_of_release_0_6_is_refused_with_the_reason() -> None:
    """It has other tables under the same identifier."""
    path = OLDER / "0.6.0_external.ptd"
    with pytest.raises(UnsupportedProgramError) as caught:
        open_program(OLDER / "0.6.0_external.pte", data=path)
    assert str(caught.value) == (
        f"{path}: root at byte 76: the tables look like those of ExecuTorch 0.6 or older, which are not read "
        "[unsupported-version]; export the model again with ExecuTorch 0.7 or newer"
    )


def test_a_program_of_release_0_6_takes_its_data_from_a_newer_file() -> None:
    """The program has not changed since; both files hold the same tensors."""
    check_runs(OLDER / "0.6.0_external.pte", OLDER / "0.7.0_external.ptd")
