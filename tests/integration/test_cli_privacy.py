"""Commands show that a device has an id, and not which, unless they are asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

from etconfig.facts.sheet import FactSheet

ID = "serial-R58M1234567"
PROFILE = """
[profile]
name = "mine"
match = 'bucket(device.id, "a") < 1.0 && device.id != "x"'
[options.ReferenceCpuBackend]
num_threads = { expr = 'bucket(device.id, "b") < 0.5 ? 1 : 2' }
"""
OPTION = "forward:ReferenceCpuBackend.num_threads"


@pytest.fixture(autouse=True)
def device(place: Path) -> None:
    sheet = FactSheet.empty().with_overrides({"device.id": ID, "os.name": "linux"})
    (place / "sheet.json").write_text(sheet.to_json())
    (place / "mine.toml").write_text(PROFILE)


@pytest.mark.parametrize(
    "command",
    [
        ["facts"],
        ["facts", "--all"],
        ["facts", "--json"],
        ["facts", "--redact", "--json"],
        ["facts", "--redact", "--save", "public.json"],
        ["profiles", "match", "--profile-path", "."],
        ["profiles", "match", "--profile-path", ".", "--json"],
        ["resolve", "model.pte", "--profile", "mine.toml"],
        ["resolve", "model.pte", "--profile", "mine.toml", "--json"],
        ["explain", OPTION, "model.pte", "--profile", "mine.toml"],
        ["explain", OPTION, "model.pte", "--profile", "mine.toml", "--json"],
        ["lock", "model.pte", "--profile", "mine.toml"],
        ["validate", "mine.toml"],
        ["matrix", "model.pte", "--profile", "mine.toml", "--json"],
    ],
    ids=" ".join,
)
def test_no_command_writes_the_id(cli: Callable[..., Outcome], place: Path, command: list[str]) -> None:
    done = cli(*command, "--facts", "sheet.json")
    assert done.status in (0, 1), done.stderr
    assert ID not in done.stdout + done.stderr
    files = [path for path in place.rglob("*") if path.is_file() and path.name != "sheet.json"]
    assert [path for path in files if ID.encode() in path.read_bytes()] == []


def test_doctor_does_not_show_an_id_of_the_project(cli: Callable[..., Outcome], place: Path) -> None:
    (place / "etconfig.toml").write_text(f'[facts]\n"device.id" = "{ID}"\n')
    done = cli("doctor")
    assert done.stdout
    assert ID not in done.stdout + done.stderr


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
def test_an_inspected_bundle_does_not_show_the_id_that_a_profile_sets(
    cli: Callable[..., Outcome], place: Path, as_json: list[str]
) -> None:
    (place / "mine.toml").write_text(f'{PROFILE}[facts]\n"device.id" = "{ID}"\n')
    packed = cli("pack", "model.pte", "--profile", "mine.toml", "--output", "app.etbundle")
    assert packed.status == 0, packed.stderr
    done = cli("inspect", "app.etbundle", *as_json)
    assert done.status == 0
    assert "device.id" in done.stdout
    assert ID not in done.stdout


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
def test_one_flag_shows_the_id(cli: Callable[..., Outcome], as_json: list[str]) -> None:
    assert ID in cli("facts", "--facts", "sheet.json", "--show-identifying", *as_json).stdout


def test_a_sheet_that_is_saved_has_the_id(cli: Callable[..., Outcome], place: Path) -> None:
    cli("facts", "--fact", f"device.id={ID}", "--save", "mine.json")
    assert f'"value": "{ID}"' in (place / "mine.json").read_text()


def test_redacting_and_showing_exclude_each_other(cli: Callable[..., Outcome]) -> None:
    done = cli("facts", "--redact", "--show-identifying")
    assert done.status == 2
    assert "--redact removes what --show-identifying shows; give one of them" in done.stderr
