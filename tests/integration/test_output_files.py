"""Files that commands write: whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import DATA, ON_DEVICE, Outcome, error

SMALL_DISK = """\
import resource, sys
sys.dont_write_bytecode = True  # before Python 3.14, a module cut off at the limit is kept
from etconfig.cli.startup.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
main(sys.argv[1:])
"""
"""The command line with a limit of 100 bytes for every file."""


class TestOutputFiles:
    """A file is written whole or not at all; an earlier file stays."""

    RUN = ("run", "model.pte", "--input", "x.npy", *ON_DEVICE)

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("missing/y.npz", "No such file or directory; create the directory 'missing' first"),
            (".", "Is a directory"),
            ("model.pte/y.npz", "Not a directory"),
            ("/proc/y.npz", "No such file or directory"),
        ],
    )
    def test_a_path_that_cannot_be_written_is_an_error(
        self, cli: Callable[..., Outcome], place: Path, path: str, reason: str
    ) -> None:
        before = sorted(place.iterdir())
        for command in ([*self.RUN, "--output"], ["facts", "--facts", "device.json", "--save"]):
            assert cli(*command, path) == Outcome(2, "", error(f"cannot write {path}: {reason}"))
        assert sorted(place.iterdir()) == before

    @pytest.mark.parametrize("option", ["--output", "--trace-format=chrome --trace"])
    @pytest.mark.parametrize("path", ["model.pte", "x.npy", "device.json"])
    def test_a_file_that_run_reads_is_not_replaced(
        self, cli: Callable[..., Outcome], place: Path, option: str, path: str
    ) -> None:
        before = (place / path).read_bytes()
        message = f"cannot write {path}: the command reads it; give another file"
        assert cli(*self.RUN, *option.split(), path) == Outcome(2, "", error(message))
        assert (place / path).read_bytes() == before

    @pytest.mark.parametrize(
        "command", [[*RUN, "--output", "file"], ["facts", "--facts", "device.json", "--save", "file"]]
    )
    @pytest.mark.parametrize("there_before", [True, False])
    def test_a_full_disk_leaves_the_earlier_file(
        self, cli: Callable[..., Outcome], place: Path, command: list[str], there_before: bool
    ) -> None:
        """A limit on the size of files fails as a full disk does: in the middle of a write."""
        if there_before:
            assert cli(*command).status == 0
        before = {path: path.read_bytes() for path in place.iterdir()}
        done = subprocess.run([sys.executable, "-c", SMALL_DISK, *command], capture_output=True, text=True)
        shown = (done.returncode, done.stdout, done.stderr)
        assert shown == (2, "", error("cannot write file: File too large"))
        assert {path: path.read_bytes() for path in place.iterdir()} == before

    def test_a_run_that_fails_leaves_an_earlier_result_alone(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        assert cli(*self.RUN, "--output", "y.npz").status == 0
        before = (place / "y.npz").read_bytes()
        np.save(place / "x.npy", np.zeros(3))
        assert cli(*self.RUN, "--output", "y.npz").status == 2
        assert (place / "y.npz").read_bytes() == before

    def test_a_result_replaces_an_earlier_one_and_leaves_no_other_file(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        np.savez(place / "y.npz", out0=np.zeros(3))
        before = sorted(place.iterdir())
        assert cli(*self.RUN, "--output", "y.npz").status == 0
        assert sorted(place.iterdir()) == before
        with np.load(place / "y.npz") as outputs:
            assert outputs.files == ["out0"]

    def test_a_link_is_written_through(self, cli: Callable[..., Outcome], place: Path) -> None:
        (place / "results").mkdir()
        (place / "y.npz").symlink_to("results/latest.npz")
        assert cli(*self.RUN, "--output", "y.npz").status == 0
        assert (place / "y.npz").is_symlink()
        assert (place / "results" / "latest.npz").is_file()

    @pytest.mark.posix
    def test_a_device_stays_a_device(self, cli: Callable[..., Outcome]) -> None:
        assert cli(*self.RUN, "--output", "/dev/null").status == 0
        assert Path("/dev/null").is_char_device()

    def test_an_output_that_an_npz_cannot_contain_is_an_error(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        program = DATA / "programs" / "two_methods.pte"
        done = cli("run", program, "--method", "name_of_model", "--output", "y.npz")
        assert done == Outcome(2, "", error("out0 is 'corpus', which an .npz cannot contain"))
        assert not (place / "y.npz").exists()
