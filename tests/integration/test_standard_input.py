"""`-` is standard input wherever a command reads a profile, a fact sheet or a saved result."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import Outcome

Cli = Callable[..., Outcome]
PROFILE = '[profile]\nname = "a"\nextends = ["generic/any"]\n[options.ReferenceNpuBackend]\n'
ON_DEVICE = ("model.pte", "--facts", "device.json")


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], None]:
    def give(content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


@pytest.fixture(autouse=True)
def _nothing_remains(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    directory = tmp_path_factory.mktemp("copies")
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    yield
    assert list(directory.iterdir()) == []


class TestProfiles:
    """A profile can come from an editor that has not saved it."""

    def test_validate_reads_it(self, cli: Cli, given: Callable[[str], None]) -> None:
        given(PROFILE + "power_mod = 1\n")
        done = cli("validate", "-", "--format", "concise")
        assert (done.status, done.stdout) == (
            1,
            "<stdin>:5:1: unknown-option ReferenceNpuBackend has no option 'power_mod'; "
            "did you mean 'power_mode'?\n",
        )

    def test_it_is_read_once_and_checked_beside_files(
        self, cli: Cli, place: Path, given: Callable[[str], None]
    ) -> None:
        (place / "b.toml").write_text(PROFILE)
        given(PROFILE)
        assert cli("validate", "-", "b.toml", "-").stderr == "2 files checked: 0 errors, 0 warnings\n"

    def test_diff_shows_its_fixes_and_fix_refuses(self, cli: Cli, given: Callable[[str], None]) -> None:
        given(PROFILE + "power_mod = 1\n")
        done = cli("validate", "-", "--diff", "--unsafe-fixes")
        assert done.stdout.startswith("--- <stdin>\n+++ <stdin>\n")
        given(PROFILE)
        assert "--fix cannot change standard input" in cli("validate", "-", "--fix").stderr

    @pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
    def test_every_format_names_it(self, cli: Cli, given: Callable[[str], None], form: str) -> None:
        given("[profile\n")
        printed = cli("validate", "-", "--format", form).stdout
        assert ("%3Cstdin%3E" if form == "sarif" else "<stdin>") in printed

    def test_a_command_resolves_it(self, cli: Cli, given: Callable[[str], None]) -> None:
        given(PROFILE + "core = 2\n")
        done = cli("explain", "forward:ReferenceNpuBackend.core", *ON_DEVICE, "--profile", "-")
        assert done.stdout.startswith("forward:ReferenceNpuBackend.core = 2\n  from profile <stdin>:5:1\n")

    @pytest.mark.parametrize("content", [b"\xff", b"a" * (2 << 20), b"", b"\x00"])
    def test_odd_input_is_an_error(self, cli: Cli, given: Callable[[bytes], None], content: bytes) -> None:
        given(content)
        assert cli("validate", "-").status == 1

    def test_a_closed_one_is_an_error(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", None)
        assert cli("validate", "-") == Outcome(2, "", "error: cannot read standard input: it is closed\n")


class TestFactSheets:
    """A fact sheet can come from another device."""

    SHEET = '{"etconfig_fact_sheet": 1, "facts": {"os.name": {"value": "linux"}}}'

    def test_a_command_uses_it(self, cli: Cli, given: Callable[[str], None]) -> None:
        given(self.SHEET)
        assert cli("facts", "--facts", "-").stdout.splitlines()[1].split()[:2] == ["os.name", "linux"]

    def test_sheets_are_compared(self, cli: Cli, given: Callable[[str], None]) -> None:
        given(self.SHEET)
        assert "- cpu.arch" in cli("facts", "diff", "device.json", "-").stdout

    def test_a_pipe_works(self, shell: Callable[..., Outcome]) -> None:
        line = "cat device.json | etconfig resolve model.pte --facts - --json"
        assert json.loads(shell(line).stdout)["facts"]["cpu.available_cores"] == 4

    def test_a_configuration_can_be_named_after_it(
        self, cli: Cli, given: Callable[[str], None], place: Path
    ) -> None:
        given((place / "device.json").read_text())
        sheets = ("--facts", "device.json", "--facts", "-")
        assert cli("pack", "model.pte", *sheets, "-o", "x.etbundle").status == 0
        packed = cli("inspect", "x.etbundle", "--json").json
        assert [each["name"] for each in packed["profiles"]] == ["device", "stdin"]


class TestSavedResults:
    """A saved result can come from another command."""

    def test_it_is_compared(self, cli: Cli, given: Callable[[str], None], place: Path) -> None:
        (place / "old.json").write_text(cli("resolve", *ON_DEVICE, "--json").stdout)
        given(cli("resolve", *ON_DEVICE, "--set", "forward:ReferenceNpuBackend.core=1", "--json").stdout)
        assert cli("diff", "old.json", "-").stdout.startswith("forward:ReferenceNpuBackend.core: 0 → 1\n")

    def test_so_is_a_fact_sheet(self, cli: Cli, given: Callable[[str], None], place: Path) -> None:
        given((place / "device.json").read_text())
        done = cli("diff", "facts:device.json", "facts:-", "--program", "model.pte")
        assert done == Outcome(0, "The options are the same.\n", "")
