"""Commands say where a device falls under a known quirk of a backend that its options or programs use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import DIGITS, run_command

from etconfig.profile import quirks

LIST = """
[[quirk]]
report = "acme/npu#17"
if = 'version(gpu.0.driver_version) < "1.2"'
seen = "results were wrong"
help = "update the driver"
"""
PROFILE = '[profile]\nname = "acme/board"\n\n[options.ReferenceNpuBackend]\npower_mode = "low"\n'
OLD, NEW = ("--fact", "gpu.0.driver_version=1.1.9"), ("--fact", "gpu.0.driver_version=1.10")
SAID = "ReferenceNpuBackend on such a device: results were wrong (acme/npu#17)\n  = help: update the driver\n"


@pytest.fixture(autouse=True)
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A list of quirks of the reference backend, and a profile that uses it, in an empty directory."""
    directory = tmp_path / "quirks"
    directory.mkdir()
    (directory / "ReferenceNpuBackend.toml").write_text(LIST)
    monkeypatch.setattr(quirks, "DIRECTORY", directory)
    quirks.quirks_of.cache_clear()
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    Path("board.toml").write_text(PROFILE)
    yield
    quirks.quirks_of.cache_clear()


class TestValidate:
    """`validate` warns on a given device, unless a rule turns it off."""

    def check(self, capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
        found = run_command(capfd, "validate", "board.toml", *arguments)
        assert found.status == 0
        return found.stdout + found.stderr

    def test_an_affected_device_is_a_warning(self, capfd: pytest.CaptureFixture[str]) -> None:
        assert f"warning[known-quirk]: {SAID}" in self.check(capfd, "--device", "pi-5", *OLD)

    def test_with_a_program_it_is_one_too(self, capfd: pytest.CaptureFixture[str]) -> None:
        program = ("--program", str(DIGITS / "digits.pte"))
        assert self.check(capfd, "--device", "pi-5", *OLD, *program).count("warning[known-quirk]") == 1

    @pytest.mark.parametrize("arguments", [("--device", "pi-5", *NEW), ("--device", "pi-5"), ()])
    def test_other_and_unknown_devices_are_not(
        self, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]
    ) -> None:
        assert "known-quirk" not in self.check(capfd, *arguments)

    def test_one_key_turns_it_off(self, capfd: pytest.CaptureFixture[str]) -> None:
        Path("etconfig.toml").write_text('[rules]\nknown-quirk = "off"\n')
        assert "known-quirk" not in self.check(capfd, "--device", "pi-5", *OLD)

    def test_or_makes_it_an_error(self, capfd: pytest.CaptureFixture[str]) -> None:
        Path("etconfig.toml").write_text('[rules]\nknown-quirk = "error"\n')
        found = run_command(capfd, "validate", "board.toml", "--device", "pi-5", *OLD)
        assert found.status == 1
        assert f"error[known-quirk]: {SAID}" in found.stdout + found.stderr


def test_other_commands_have_a_note(capfd: pytest.CaptureFixture[str]) -> None:
    program = str(DIGITS / "digits.pte")
    for arguments in (
        ("resolve", program, "--device", "pi-5", *OLD),
        ("matrix", program, "--device", "pi-5", *OLD),
    ):
        found = run_command(capfd, *arguments)
        assert found.status == 0
        assert "results were wrong (acme/npu#17)" in found.stdout + found.stderr, arguments
