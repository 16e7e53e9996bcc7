"""`etconfig devices`, and `--device` beside `--facts`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from command_line import Outcome

import etconfig
from etconfig.cli.startup.command_list import COMMAND_SUMMARIES

Cli = Callable[..., Outcome]


class TestCommand:
    """Known devices are listed, shown with the source of each fact, and compared."""

    def test_they_are_listed(self, cli: Cli) -> None:
        done = cli("devices", "list")
        assert (done.status, done.stderr) == (0, "")
        (row,) = (line for line in done.stdout.splitlines() if line.startswith("google/pixel-8 "))
        assert row.split() == ["google/pixel-8", "android", "arm64", "Pixel", "8", "13", "captured"]
        listed = cli("devices", "list", "--json").json
        assert [each["name"] for each in listed] == list(etconfig.device_names())
        assert cli("devices").stdout == done.stdout

    def test_one_is_shown_with_its_sources(self, cli: Cli) -> None:
        done = cli("devices", "show", "pixel-8")
        assert (done.status, done.stderr) == (0, "")
        (row,) = (line for line in done.stdout.splitlines() if line.startswith("device.model "))
        assert row.split(maxsplit=3)[:3] == ["device.model", "Pixel", "8"]
        assert "captured https://" in row

    def test_its_json_is_a_sheet_for_other_commands(self, cli: Cli, place: Path) -> None:
        text = cli("devices", "show", "google/pixel-8", "--json").stdout
        (place / "mine.json").write_text(text)
        assert etconfig.load_fact_sheet("mine.json") == etconfig.load_device("pixel-8")
        done = cli("devices", "diff", "pixel-8", "mine.json")
        assert (done.status, done.stdout) == (0, "The facts are the same.\n")

    def test_two_are_compared(self, cli: Cli) -> None:
        done = cli("devices", "diff", "pi-4", "pi-5")
        assert done.status == 1
        assert "~ cpu.model  Cortex-A72 -> Cortex-A76\n" in done.stdout
        changed = cli("devices", "diff", "pi-4", "pi-5", "--json").json["changed"]
        assert changed["cpu.model"] == {"old": "Cortex-A72", "new": "Cortex-A76"}
        assert cli("facts", "diff", "pi-4", "raspberry-pi/pi-5").stdout == done.stdout

    @pytest.mark.parametrize(
        "arguments",
        [
            ("devices", "show", "pixle-8"),
            ("devices", "diff", "pixle-8", "pi-5"),
            ("facts", "--device", "pixle-8"),
        ],
    )
    def test_an_unknown_name_is_an_error_with_a_suggestion(
        self, cli: Cli, arguments: tuple[str, ...]
    ) -> None:
        done = cli(*arguments)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr == (
            "error[unknown-device]: no known device is called 'pixle-8'\n"
            "  = help: did you mean 'google/pixel-8'?\n"
        )


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand, with its words."""
    for name in COMMAND_SUMMARIES:
        command = import_module(f"etconfig.cli.commands.{name.replace('-', '_')}").command
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {each}", subcommand) for each, subcommand in command.commands.items())


class TestOption:
    """`--device NAME` stands for the sheet of a known device wherever `--facts` takes a file."""

    def test_every_command_with_facts_has_it(self) -> None:
        found = {name: {o for p in command.params for o in p.opts} for name, command in commands()}
        with_facts = {name for name, options in found.items() if "--facts" in options}
        assert with_facts == {name for name, options in found.items() if "--device" in options}
        assert {"resolve", "validate", "lock", "diff", "pack", "explain", "models select"} <= with_facts

    @pytest.mark.parametrize(
        "arguments",
        [
            ("facts",),
            ("profiles", "match"),
            ("resolve", "model.pte"),
            ("explain", "ReferenceNpuBackend.core", "model.pte"),
            ("validate", "board.toml"),
            ("backends", "ReferenceCpuBackend"),
        ],
    )
    def test_it_is_the_sheet(self, cli: Cli, place: Path, arguments: tuple[str, ...]) -> None:
        (place / "board.toml").write_text('[profile]\nname = "board"\n')
        folder = place / "google"
        folder.mkdir()
        (folder / "pixel-8").write_text(cli("devices", "show", "pixel-8", "--json").stdout)
        by_name = cli(*arguments, "--device", "pixel-8")
        by_path = cli(*arguments, "--facts", "google/pixel-8")
        assert (by_name.status, by_name.stderr) == (0, by_path.stderr)
        assert by_name.stdout == by_path.stdout

    def test_facts_set_by_hand_win_over_it(self, cli: Cli) -> None:
        done = cli("facts", "--device", "pixel-8", "--fact", "device.model=Mine", "--json").json
        assert done["facts"]["device.model"]["value"] == "Mine"

    @pytest.mark.parametrize("command", ["facts", "explain X.y", "run model.pte"])
    def test_it_is_refused_beside_facts_where_a_command_is_about_one_device(
        self, cli: Cli, command: str
    ) -> None:
        facts, device = ("--facts", "device.json"), ("--device", "pi-5")
        for options in ((*facts, *device), (*device, *facts)):
            done = cli(*command.split(), *options)
            assert done.status == 2
            assert "--facts and --device" in done.stderr

    def test_both_are_devices_of_a_command_about_several_in_their_order(self, cli: Cli, place: Path) -> None:
        (place / "models.toml").write_text('[[model.one.variants]]\nfile = "model.pte"\n')
        sheets = ["--device", "pi-5", "--facts", "device.json", "--device", "pixel-8"]
        done = cli("models", "check", "--models", "models.toml", *sheets, "--json")
        devices = [each["device"] for each in json.loads(done.stdout)[0]["devices"]]
        assert devices == ["raspberry-pi/pi-5", "device", "google/pixel-8"]
