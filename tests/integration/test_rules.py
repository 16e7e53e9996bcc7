"""Levels of findings in commands: what is shown, and the exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

Cli = Callable[..., Outcome]

UNUSUAL = """\
[profile]
name = "acme/board"
match = 'os.name == "embedded"'
"""
UNDECIDED = """\
[profile]
name = "acme/board"
[[when]]
if = 'gpu.0.memory > 5'
options.ReferenceCpuBackend.num_threads = 2
"""


@pytest.fixture
def board(place: Path) -> Path:
    """A profile whose condition is a warning."""
    path = place / "board.toml"
    path.write_text(UNUSUAL)
    return path


def rules(text: str) -> None:
    Path("etconfig.toml").write_text(f"[rules]\n{text}\n")


class TestValidate:
    """`validate` exits with 1 for errors, and for what `--fail-on` names."""

    @pytest.mark.parametrize(
        ("level", "arguments", "status"),
        [
            (None, (), 0),
            (None, ("--fail-on", "error"), 0),
            (None, ("--fail-on", "warning"), 1),
            (None, ("--fail-on", "note"), 1),
            (None, ("--strict",), 1),
            ("error", (), 1),
            ("note", ("--fail-on", "warning"), 0),
            ("note", ("--fail-on", "note"), 1),
            ("off", ("--fail-on", "note"), 0),
        ],
    )
    def test_the_level_decides(
        self, board: Path, cli: Cli, level: str | None, arguments: tuple[str, ...], status: int
    ) -> None:
        if level is not None:
            rules(f'unusual-value = "{level}"')
        for form in ("text", "json", "github", "sarif", "concise"):
            assert cli("validate", board.name, "--format", form, *arguments).status == status

    def test_what_is_off_is_not_fixed_either(self, place: Path, cli: Cli) -> None:
        path = place / "board.toml"
        path.write_text(f"{UNUSUAL}discription = 'x'\n")
        rules('unknown-key = "off"')
        assert cli("validate", "board.toml", "--fix", "--unsafe-fixes").status == 0
        assert "discription" in path.read_text()

    def test_wrong_rules_do_not_hide_a_finding_and_are_one(self, board: Path, cli: Cli) -> None:
        rules('unusual-value = "none"')
        done = cli("validate", board.name, "--format", "json")
        assert done.status == 1
        assert [each["code"] for each in json.loads(done.stdout)] == ["invalid-rule", "unusual-value"]

    def test_other_values_on_other_devices_are_one_finding(self, place: Path, cli: Cli) -> None:
        (place / "board.toml").write_text(
            "[profile]\nname = 'board'\n[options.ReferenceCpuBackend]\n"
            "num_threads = { expr = 'cpu.logical_cores - 4' }\n"
        )
        devices = [argument for each in ("pi-4", "pi-5", "pixel-8") for argument in ("--device", each)]
        done = cli("validate", "board.toml", *devices, "--format", "json")
        (found,) = (each for each in json.loads(done.stdout) if each["severity"] == "error")
        assert found["notes"][-1] == "on raspberry-pi/pi-4, raspberry-pi/pi-5"
        done = cli("validate", "board.toml", *devices, "--format", "concise")
        assert "(on raspberry-pi/pi-4, raspberry-pi/pi-5)" in done.stdout


class TestOtherCommands:
    """Warnings and notes of every command have levels; what stops a command is an error at any level."""

    def run(self, cli: Cli, *arguments: str) -> Outcome:
        Path("board.toml").write_text(UNDECIDED)
        Path("bare.json").write_text('{"etconfig_fact_sheet": 1, "facts": {}}')
        return cli("resolve", "--profile", "board.toml", "--facts", "bare.json", *arguments)

    def test_a_note_is_shown_and_changes_no_status(self, place: Path, cli: Cli) -> None:
        done = self.run(cli)
        assert (done.status, "note[undecided-condition]" in done.stderr) == (0, True)

    def test_a_note_that_is_off_is_not_shown(self, place: Path, cli: Cli) -> None:
        rules('undecided-condition = "off"')
        assert "undecided-condition" not in self.run(cli).stderr

    def test_a_note_that_is_an_error_makes_the_status_1_and_the_result_is_shown(
        self, place: Path, cli: Cli
    ) -> None:
        plain = self.run(cli).stdout
        rules('undecided-condition = "error"')
        done = self.run(cli)
        assert (done.status, done.stdout) == (1, plain)
        assert "error[undecided-condition]" in done.stderr

    @pytest.mark.parametrize(("level", "status"), [("error", 0), ("warning", 0), ("note", 1)])
    def test_fail_on_goes_with_any_command(self, place: Path, cli: Cli, level: str, status: int) -> None:
        assert self.run(cli, "--fail-on", level).status == status
        Path("board.toml").write_text(UNDECIDED)
        assert (
            cli("--fail-on", level, "matrix", "--profile", "board.toml", "--facts", "bare.json").status
            == status
        )

    def test_a_comment_allows_a_note(self, place: Path, cli: Cli) -> None:
        self.run(cli)
        path = Path("board.toml")
        path.write_text(UNDECIDED.replace("5'", "5'  # etconfig: allow undecided-condition because so"))
        done = cli("resolve", "--profile", "board.toml", "--facts", "bare.json", "--fail-on", "note")
        assert (done.status, done.stderr) == (0, "")

    def test_an_error_that_stops_the_work_is_not_lowered(self, place: Path, cli: Cli) -> None:
        rules('unknown-option = "off"')
        Path("board.toml").write_text(
            "[profile]\nname = 'a'\n[options.ReferenceCpuBackend]\nnum_thread = 1\n"
        )
        assert cli("validate", "board.toml").status == 0
        done = cli("resolve", "--profile", "board.toml")
        assert (done.status, "error[unknown-option]" in done.stderr) == (2, True)


class TestListing:
    """`rules` lists the levels, and `explain` shows a page."""

    def test_the_levels_of_the_project_are_shown(self, place: Path, cli: Cli) -> None:
        rules('unusual-value = "off"\n[[rules.files]]\npaths = ["a", "b"]\nunusual-value = "error"')
        rows = {each["code"]: each for each in json.loads(cli("rules", "--json").stdout)}
        assert rows["unusual-value"]["level"] == "off; error in a, b"
        assert (rows["unknown-fact"]["level"], rows["unknown-fact"]["fix"]) == ("error", "safe, guess")
        assert rows["untrusted-file"]["is_fixed"]
        assert cli("rules").stdout.splitlines()[0].split() == ["CODE", "LEVEL", "FIX", "MEANING"]

    def test_wrong_rules_are_an_error(self, place: Path, cli: Cli) -> None:
        rules('unusual-valu = "off"')
        assert cli("rules").status == 2

    def test_explain_shows_the_page_of_a_code(self, place: Path, cli: Cli) -> None:
        done = cli("explain", "unusual-value")
        assert (done.status, done.stdout.splitlines()[0]) == (0, "# unusual-value")
        assert cli("explain", "unusual-value", "--json").status == 2

    def test_explain_reads_other_spellings_of_a_code(self, place: Path, cli: Cli) -> None:
        for text in ("UNUSUAL_VALUE", "error[unusual-value]"):
            assert cli("explain", text).stdout == cli("explain", "unusual-value").stdout
        done = cli("explain", "unusal-value")
        assert (done.status, "help: did you mean 'unusual-value'?" in done.stderr) == (2, True)
