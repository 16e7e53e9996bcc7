"""`etconfig schema BACKEND --emit`: typed code, to stdout or into a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from command_line import Outcome

Cli = Callable[..., Outcome]


class TestEmit:
    """The code goes to stdout, or into a file that etconfig may replace."""

    def test_the_code_is_the_same_in_both_places(self, cli: Cli, tmp_path: Path) -> None:
        target = tmp_path / "npu.h"
        for _ in range(2):  # a file that etconfig wrote is replaced
            assert cli("schema", "ReferenceNpuBackend", "--emit", "cpp", "-o", str(target)).status == 0
        assert target.read_text() == cli("schema", "ReferenceNpuBackend", "--emit", "cpp").stdout
        assert "namespace etconfig_reference_npu_backend {" in target.read_text()

    def test_a_file_of_the_user_is_kept(self, cli: Cli, tmp_path: Path) -> None:
        target = tmp_path / "npu.swift"
        target.write_text("mine")
        found = cli("schema", "ReferenceNpuBackend", "--emit", "swift", "-o", str(target))
        assert "not code that etconfig generated; give another file, or --force" in found.stderr
        assert target.read_text() == "mine"
        forced = cli("schema", "ReferenceNpuBackend", "--emit", "swift", "-o", str(target), "--force")
        assert (forced.status, target.read_text()[:12]) == (0, "// Generated")

    def test_arguments_that_contradict_each_other_are_refused(self, cli: Cli, tmp_path: Path) -> None:
        target = str(tmp_path / "npu.py")
        cases = {
            (
                "--emit",
                "kotlin",
                "-o",
                target,
            ): f"{target}: the name of a file for --emit kotlin ends in .kt or .kts",
            ("-o", target): "--output and --force are for --emit; other schemas go to stdout",
            (
                "--emit",
                "cpp",
                "--format",
                "markdown",
            ): "--emit is for the options of one backend: leave out the other forms",
        }
        for arguments, message in cases.items():
            found = cli("schema", "ReferenceNpuBackend", *arguments)
            assert (found.status, found.stderr.splitlines()[0]) == (2, f"error: {message}")
