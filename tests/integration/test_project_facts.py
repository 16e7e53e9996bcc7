"""`[facts]` of a project file: every command that selects a profile or shows facts counts them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome

import etconfig
from etconfig import Installation
from etconfig.app.validating.validation import validate_file

FACTS = '[facts]\n"device.model" = "Acme Camera 3"\n'
CAMERA = """\
[profile]
name = "acme/camera"
extends = ["generic/linux-x86_64"]
match = 'device.model == "Acme Camera 3"'
"""
WHERE_FOUND = ("--profile-path", "profiles")


@pytest.fixture
def camera(place: Path) -> Path:
    """A project whose file corrects the model of the device, and a profile for that model."""
    (place / "profiles" / "acme").mkdir(parents=True)
    (place / "profiles" / "acme" / "camera.toml").write_text(CAMERA)
    (place / "etconfig.toml").write_text(FACTS)
    return place


def test_facts_shows_them_with_their_place(camera: Path, cli: Callable[..., Outcome]) -> None:
    done = cli("facts", *ON_DEVICE)
    assert f"device.model         Acme Camera 3  {camera / 'etconfig.toml'}:2:1\n" in done.stdout
    detected = cli("facts", "--json").json["facts"]["device.model"]
    assert detected["value"] == "Acme Camera 3"
    assert detected["origin"] == f"project {camera / 'etconfig.toml'}:2:1"


def test_profiles_match_selects_by_them(camera: Path, cli: Callable[..., Outcome]) -> None:
    done = cli("profiles", "match", *WHERE_FOUND, *ON_DEVICE)
    assert "auto selects acme/camera\n" in done.stdout
    resolved = cli("resolve", *WHERE_FOUND, *ON_DEVICE, "--json")
    assert resolved.json["profile"] == "acme/camera"


def test_a_fact_on_the_command_line_wins_over_them(camera: Path, cli: Callable[..., Outcome]) -> None:
    other = ("--fact", "device.model=Acme Camera 4")
    done = cli("profiles", "match", *WHERE_FOUND, *ON_DEVICE, *other, "--json")
    assert done.json["selected"] == "generic/linux-x86_64"


def test_backends_shows_the_values_that_follow_them(camera: Path, cli: Callable[..., Outcome]) -> None:
    (camera / "etconfig.toml").write_text('[facts]\n"cpu.available_cores" = 7\n')
    done = cli("backends", "ReferenceCpuBackend", *ON_DEVICE, "--json")
    assert done.json["options"]["num_threads"]["here"]["value"] == 7


def test_doctor_selects_by_them(
    camera: Path, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCONFIG_PROFILE_PATH", "profiles")
    (camera / "profiles/acme/camera.toml").write_text(
        CAMERA.replace('extends = ["generic/linux-x86_64"]\n', "")
    )
    findings = {each["subject"]: each for each in cli("doctor", "--json").json}
    assert "acme/camera" in findings["profiles"]["detail"]
    assert "1 of them set by the project file" in findings["facts"]["detail"]


def test_lock_diff_and_explain_see_the_same_facts(camera: Path, cli: Callable[..., Outcome]) -> None:
    """These resolve like `resolve`: the profile selected for the corrected model is the one compared with."""
    (camera / "profiles" / "acme" / "camera.toml").write_text(
        CAMERA + "[options.ReferenceCpuBackend]\nnum_threads = 2\n"
    )
    explained = cli("explain", "ReferenceCpuBackend.num_threads", *WHERE_FOUND, *ON_DEVICE)
    assert "= 2\n  from profile profiles/acme/camera.toml" in explained.stdout
    assert cli("lock", *WHERE_FOUND, *ON_DEVICE).status == 0
    (device,) = json.loads((camera / "etconfig.lock").read_text())["devices"]
    assert "acme/camera" in device["profiles"]
    same = cli("diff", "acme/camera", "facts:device.json", *WHERE_FOUND, *ON_DEVICE)
    assert (same.status, same.stdout) == (0, "The options are the same.\n")


def test_validate_resolves_a_profile_on_them(camera: Path, cli: Callable[..., Outcome]) -> None:
    """With a device, arguments must resolve as `resolve` would: on the facts of the project file."""
    profile = '[profile]\nname = "p"\n[options.ReferenceCpuBackend]\n'
    (camera / "p.toml").write_text(f'{profile}num_threads = {{ expr = "cpu.performance_cores" }}\n')
    (camera / "etconfig.toml").write_text("")
    assert "unknown-fact-value" in cli("validate", "p.toml", *ON_DEVICE).stdout
    (camera / "etconfig.toml").write_text('[facts]\n"cpu.performance_cores" = 2\n')
    assert cli("validate", "p.toml", *ON_DEVICE).status == 0
    facts = etconfig.load_fact_sheet(Path("device.json"))
    assert not validate_file(Path("p.toml"), Installation(camera), facts=facts)


def test_a_sheet_is_compared_as_measured(camera: Path, cli: Callable[..., Outcome]) -> None:
    """`facts diff` compares sheets, which a project file does not change."""
    (camera / "other.json").write_text((camera / "device.json").read_text().replace("linux", "macos"))
    (camera / "etconfig.toml").write_text('[facts]\n"os.name" = "linux"\n')
    done = cli("facts", "diff", "device.json", "other.json")
    assert (done.status, done.stdout) == (1, "~ os.name  linux -> macos\n")


@pytest.mark.parametrize(
    "arguments", [("facts",), ("profiles", "match"), ("backends", "ReferenceCpuBackend"), ("resolve",)]
)
def test_a_wrong_project_file_stops_every_command_that_counts_them(
    arguments: tuple[str, ...], camera: Path, cli: Callable[..., Outcome]
) -> None:
    (camera / "etconfig.toml").write_text('[facts]\n"cpu.cores" = 4\n')
    done = cli(*arguments, *ON_DEVICE)
    assert done.status == 2
    assert "error[unknown-fact]" in done.stderr
    assert "etconfig.toml:2:1" in done.stderr


class TestInPython:
    def test_known_facts_are_those_of_the_device_corrected_by_the_project(self, camera: Path) -> None:
        installation = Installation(camera)
        assert installation.known_facts()["device.model"].value == "Acme Camera 3"
        assert installation.detect_facts()["device.model"].value != "Acme Camera 3"
        sheet = etconfig.load_fact_sheet(Path("device.json"))
        assert installation.known_facts(sheet)["device.model"].value == "Acme Camera 3"
        assert "device.model" not in sheet.values

    def test_without_a_project_file_they_are_those_of_the_device(self, place: Path) -> None:
        sheet = etconfig.load_fact_sheet(Path("device.json"))
        assert Installation(place).known_facts(sheet) is sheet
