"""Conditions that a device's facts do not decide: said in a note, which fails nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

import etconfig

CONDITION = 'os.name == "linux" && power.source == "battery"'
PROFILE = f"""
[profile]
name = "acme/board"

[[when]]
if = '{CONDITION}'
options.ReferenceNpuBackend.power_mode = "low"
options.ReferenceNpuBackend.precision = "fp16"
"""
NOTE = (
    f"note[undecided-condition]: {CONDITION!r} is not decided, and counts as false: power.source is unknown\n"
    " --> board.toml:6:6\n"
    "  |\n"
    f"6 | if = '{CONDITION}'\n"
    f"  |      {'^' * (len(CONDITION) + 2)}\n"
)
HELP = "  = help: give --fact power.source=VALUE, or write has(power.source) && ... if it may be unknown\n"
ON_PI = ("--device", "pi-5")
PROGRAM = ("model.pte", "--profile", "board.toml")


@pytest.fixture(autouse=True)
def profile(cli: Callable[..., Outcome]) -> None:
    """Write the profile to the directory of the command."""
    Path("board.toml").write_text(PROFILE)


class TestCommands:
    """The note names the condition and the fact, once for all options and devices."""

    def test_resolve(self, cli: Callable[..., Outcome]) -> None:
        outcome = cli("resolve", *PROGRAM, *ON_PI)
        assert (outcome.status, outcome.stderr) == (0, NOTE + HELP)

    def test_resolve_on_several_devices_names_them(self, cli: Callable[..., Outcome]) -> None:
        outcome = cli("resolve", *PROGRAM, *ON_PI, "--device", "pi-4", "--device", "pixel-8")
        noted = "  = note: on raspberry-pi/pi-5, raspberry-pi/pi-4\n"
        assert (outcome.status, outcome.stderr) == (0, NOTE + noted + HELP)

    def test_the_output_for_programs_stays_json(self, cli: Callable[..., Outcome]) -> None:
        for devices in (ON_PI, (*ON_PI, "--device", "pi-4")):
            outcome = cli("resolve", *PROGRAM, *devices, "--json")
            assert outcome.json
            assert "undecided-condition" in outcome.stderr

    def test_matrix(self, cli: Callable[..., Outcome]) -> None:
        outcome = cli("matrix", *PROGRAM, *ON_PI, "--device", "pi-4", "--device", "pixel-8")
        assert outcome.status == 0
        noted = "  = note: on raspberry-pi/pi-5, raspberry-pi/pi-4\n"
        assert NOTE + noted + HELP in outcome.stdout

    def test_validate(self, cli: Callable[..., Outcome]) -> None:
        outcome = cli("validate", "board.toml", "--program", "model.pte", *ON_PI)
        assert outcome.status == 0
        assert (
            outcome.stdout + outcome.stderr == NOTE + HELP + "1 file checked: 0 errors, 0 warnings, 1 note\n"
        )

    def test_validate_without_a_device_does_not_know(self, cli: Callable[..., Outcome]) -> None:
        assert cli("validate", "board.toml", "--program", "model.pte").stdout == ""

    @pytest.mark.parametrize(
        "changes", [("--fact", "power.source=battery"), ("--fact", "power.source=mains")]
    )
    def test_a_given_fact_decides(self, cli: Callable[..., Outcome], changes: tuple[str, str]) -> None:
        assert cli("resolve", *PROGRAM, *ON_PI, *changes).stderr == ""

    def test_has_decides(self, cli: Callable[..., Outcome]) -> None:
        Path("board.toml").write_text(PROFILE.replace(CONDITION, f"has(power.source) && {CONDITION}"))
        assert cli("resolve", *PROGRAM, *ON_PI).stderr == ""

    def test_a_condition_that_is_false_whatever_the_fact_is_decided(
        self, cli: Callable[..., Outcome]
    ) -> None:
        assert cli("resolve", *PROGRAM, "--device", "pixel-8").stderr == ""

    def test_a_condition_that_a_later_value_hides_does_not_count(self, cli: Callable[..., Outcome]) -> None:
        sets = ("--set", "ReferenceNpuBackend.power_mode=high", "--set", "ReferenceNpuBackend.precision=fp32")
        assert cli("resolve", *PROGRAM, *ON_PI, *sets).stderr == ""


def test_in_python(cli: Callable[..., Outcome]) -> None:
    facts = etconfig.load_device("pi-5")
    (note,) = etconfig.resolve(
        etconfig.load_program("model.pte"), profile="board.toml", facts=facts
    ).undecided
    assert (note.code, note.severity.value, str(note.spans[0].place)) == (
        "undecided-condition",
        "note",
        "board.toml:6:6",
    )


def test_conditions_of_bundled_profiles_do_not_count(cli: Callable[..., Outcome]) -> None:
    program = etconfig.load_program("model.pte")
    for name in etconfig.device_names():
        assert etconfig.resolve(program, profile="auto", facts=etconfig.load_device(name)).undecided == ()
