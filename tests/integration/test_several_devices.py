"""`validate`, `resolve`, `diff` and `lock` on several devices and for several programs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Outcome

import etconfig

Cli = Callable[..., Outcome]

FOR_PI = """\
[profile]
name = "acme/pi"
match = 'device.model.startsWith("Raspberry Pi")'

[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.logical_cores" }
"""
FOR_PHONE = """\
[profile]
name = "acme/phone"
match = 'os.name == "android"'

[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.available_cores" }
"""
BASE = """\
[profile]
name = "acme/base"

[options.ReferenceCpuBackend]
num_threads = { expr = "os.api_level" }
"""
BOTH = ("--device", "pi-5", "--device", "pixel-8")
PROFILES = ("--profile-path", "profiles")


@pytest.fixture
def profiles(place: Path) -> Path:
    """A directory with a profile for Raspberry Pis and one for phones, which lacks a fact of the sheet."""
    folder = place / "profiles" / "acme"
    folder.mkdir(parents=True)
    (folder / "pi.toml").write_text(FOR_PI)
    (folder / "phone.toml").write_text(FOR_PHONE)
    return folder


def sheet(path: Path, facts: dict[str, object]) -> None:
    entries = {name: {"value": value} for name, value in facts.items()}
    path.write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": entries}))


class TestResolve:
    """`resolve` prints each program on each device, with the profile that auto selects there."""

    def test_text_names_each_device(self, cli: Cli, profiles: Path) -> None:
        cores = ("--fact", "cpu.available_cores=9")
        done = cli("resolve", "model.pte", *BOTH, *PROFILES, *cores)
        assert (done.status, done.stderr) == (0, "")
        heads = [line for line in done.stdout.splitlines() if line.startswith(("device ", "profile "))]
        assert heads == [
            "device raspberry-pi/pi-5, model.pte",
            "profile acme/pi",
            "device google/pixel-8, model.pte",
            "profile acme/phone",
        ]
        alone = cli("resolve", "model.pte", "--device", "pixel-8", *PROFILES, *cores).stdout
        assert done.stdout.endswith(f"\n\n{alone}")

    def test_json_has_for_each_device_what_it_has_alone(self, cli: Cli, profiles: Path) -> None:
        shutil.copy("model.pte", "other.pte")
        options = (*PROFILES, "--fact", "cpu.available_cores=9")
        found = cli("resolve", "model.pte", "other.pte", *BOTH, *options, "--json").json
        assert list(found) == ["resolutions"]
        pairs = [(each.pop("device"), each.pop("program")) for each in found["resolutions"]]
        devices = ("raspberry-pi/pi-5", "google/pixel-8")
        assert pairs == [(device, program) for program in ("model.pte", "other.pte") for device in devices]
        for (device, program), each in zip(pairs, found["resolutions"], strict=True):
            assert each.pop("problems") == []
            assert each == cli("resolve", program, "--device", device, *options, "--json").json

    def test_a_device_that_does_not_resolve_keeps_no_other_from_it(self, cli: Cli, profiles: Path) -> None:
        arguments = ("resolve", "model.pte", "--device", "pixel-8", "--device", "pi-5", *PROFILES)
        done = cli(*arguments)
        assert done.status == 2
        assert "profile acme/pi" in done.stdout
        assert "pixel-8" not in done.stdout
        assert done.stderr.startswith("device google/pixel-8, model.pte:\nerror[")
        assert "cpu.available_cores" in done.stderr
        data = cli(*arguments, "--json")
        phone, pi = data.json["resolutions"]
        assert data.status == 2
        assert [problem["severity"] for problem in phone["problems"]] == ["error"]
        assert "arguments" not in phone
        assert (pi["problems"], pi["profile"]) == ([], "acme/pi")

    @pytest.mark.parametrize(
        "arguments",
        [
            ("resolve", "model.pte", "other.pte"),
            ("diff", "generic/any", "generic/any"),
            ("lock", "model.pte"),
        ],
        ids=lambda arguments: arguments[0],
    )
    def test_what_no_device_is_to_blame_for_is_one_error(
        self, cli: Cli, place: Path, arguments: tuple[str, ...]
    ) -> None:
        shutil.copy("model.pte", "other.pte")
        done = cli(*arguments, *BOTH, "--set", "ReferenceCpuBackend.nope=1")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith("error[unknown-option]: ReferenceCpuBackend has no option 'nope'\n")
        assert done.stderr.count("error[") == 1

    def test_an_error_of_some_devices_names_them(self, cli: Cli, place: Path) -> None:
        (place / "x.toml").write_text(
            '[profile]\nname = "x"\n[options.ReferenceCpuBackend]\nnum_threads = { expr = "gpu.count" }\n'
        )
        phones = [f"--facts=d{number}.json" for number in range(7)]
        for phone in phones:
            (place / phone.partition("=")[2]).write_text('{"etconfig_fact_sheet": 1, "facts": {}}')
        known = place / "known.json"
        known.write_text('{"etconfig_fact_sheet": 1, "facts": {"gpu.count": {"value": 2, "unit": null}}}')
        done = cli("resolve", "model.pte", *phones, "--facts", "known.json", "--profile", "x.toml")
        assert done.status == 2
        first, error_line, *_ = done.stderr.splitlines()
        assert first == "; ".join([*(f"device d{n}, model.pte" for n in range(5)), "and 2 more:"])
        assert error_line.startswith("error[unknown-fact-value]: 'gpu.count' has no value")
        assert done.stderr.count("error[") == 1
        assert done.stdout.startswith("device known, model.pte\n")

    def test_a_missing_program_is_one_error(self, cli: Cli) -> None:
        done = cli("resolve", "none.pte", *BOTH)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.count("error") == 1

    def test_one_profile_cannot_be_printed_for_several_devices(self, cli: Cli) -> None:
        assert "--toml prints one profile" in cli("resolve", "model.pte", *BOTH, "--toml").stderr
        assert "one device" in cli("resolve", "--bundle", "a.etbundle", *BOTH).stderr

    def test_two_sheets_of_one_name_are_called_by_their_directories_too(self, cli: Cli, place: Path) -> None:
        (place / "old").mkdir()
        shutil.copy("device.json", "old/device.json")
        both = ("--facts", "device.json", "--facts", "old/device.json")
        names = [f"{place.name}/device", "old/device"]
        found = cli("resolve", "model.pte", *both, "--json").json["resolutions"]
        assert [each["device"] for each in found] == names
        assert cli("lock", "model.pte", *both).status == 0
        assert [
            each["name"] for each in json.loads((place / "etconfig.lock").read_text())["devices"]
        ] == sorted(names)
        assert [each["device"] for each in cli("matrix", *both, "--json").json["devices"]] == names

    @pytest.mark.parametrize("name", ["resolve", "lock", "matrix", "validate"])
    def test_a_device_given_twice_counts_once(self, cli: Cli, place: Path, name: str) -> None:
        (place / "base.toml").write_text('[profile]\nname = "base"\n')
        words = {"validate": ["base.toml"]}.get(name, ["model.pte"])
        twice = ("--device", "pi-5", "--device", "raspberry-pi/pi-5", "--facts", "device.json")
        done = cli(name, *words, *twice, "--facts", "./device.json")
        assert done.status == 0, done.stderr
        assert done == cli(name, *words, "--device", "pi-5", "--facts", "device.json")
        if name == "resolve":
            assert done.stdout.count("device ") == 2

    @pytest.mark.parametrize("name", ["resolve", "lock", "matrix", "validate"])
    def test_patterns_and_directories_stand_for_their_devices(self, cli: Cli, place: Path, name: str) -> None:
        (place / "base.toml").write_text('[profile]\nname = "base"\n')
        (place / "sheets").mkdir()
        for sheet in ("a", "b"):
            shutil.copy("device.json", f"sheets/{sheet}.json")
        words = {"validate": ["base.toml"]}.get(name, ["model.pte"])
        short = cli(name, *words, "--device", "raspberry-pi/*", "--facts", "sheets", "--facts", "dev*.json")
        known = [each for each in etconfig.device_names() if each.startswith("raspberry-pi/")]
        devices = [word for each in known for word in ("--device", each)]
        sheets = [word for each in ("sheets/a", "sheets/b", "device") for word in ("--facts", f"{each}.json")]
        assert len(known) > 1
        assert short.status == 0, short.stderr
        assert short == cli(name, *words, *devices, *sheets)

    def test_a_pattern_matches_whole_names_and_last_parts(self, cli: Cli) -> None:
        def names(pattern: str) -> list[str]:
            data = cli("matrix", "--device", pattern, "--json").json["devices"]
            return [each["device"] for each in data]

        assert names("*") == list(etconfig.device_names())
        assert names("pixel-?") == names("google/pixel*") == ["google/pixel-8"]
        done = cli("resolve", "--device", "acme/*")
        assert done.status == 2
        assert "error[unknown-device]: no known device matches 'acme/*'" in done.stderr
        assert "error[unknown-device]" in cli("explain", "X.y", "--device", "google/*").stderr  # takes one

    def test_a_named_profile_is_resolved_on_every_device(self, cli: Cli, profiles: Path) -> None:
        found = cli("resolve", "model.pte", *BOTH, "--profile", "profiles/acme/pi.toml", "--json").json
        assert [each["profile"] for each in found["resolutions"]] == ["acme/pi", "acme/pi"]


class TestValidate:
    """`validate` resolves a profile on each device on which it matches."""

    def test_a_profile_is_resolved_where_it_matches(self, cli: Cli, profiles: Path) -> None:
        done = cli("validate", "profiles", *BOTH, "--program", "model.pte", "--format", "concise")
        assert done.status == 1
        assert "phone.toml:6:" in done.stdout
        assert "cpu.available_cores" in done.stdout
        assert "pi.toml" not in done.stdout
        assert cli("validate", "profiles", "--device", "pi-5", "--program", "model.pte").status == 0

    def test_a_problem_names_the_devices_that_have_it(self, cli: Cli, place: Path) -> None:
        (place / "base.toml").write_text(BASE)
        done = cli("validate", "base.toml", *BOTH, "--format", "json")
        (problem,) = done.json
        assert problem["notes"][-1] == "on raspberry-pi/pi-5"
        (alone,) = cli("validate", "base.toml", "--device", "pi-5", "--format", "json").json
        assert alone == {**problem, "notes": problem["notes"][:-1]}
        (both,) = cli(
            "validate", "base.toml", "--device", "pi-5", "--device", "pi-4", "--format", "json"
        ).json
        assert both == alone

    def test_a_profile_that_matches_no_device_is_named(self, cli: Cli, profiles: Path) -> None:
        done = cli("validate", "profiles", "--device", "pi-5", "--facts", "device.json")
        assert done.status == 0
        assert done.stderr.startswith(
            "note: profiles/acme/phone.toml: not resolved on raspberry-pi/pi-5, device, since `match` does "
            "not hold there; resolve --profile FILE resolves it anyway\n"
        )
        assert "note:" not in cli("validate", "profiles").stderr

    def test_a_project_file_is_resolved_with_the_profile_that_auto_selects(
        self, cli: Cli, profiles: Path, place: Path
    ) -> None:
        (place / "etconfig.toml").write_text('profile_path = ["profiles"]\n')
        done = cli("validate", "etconfig.toml", *BOTH, "--program", "model.pte", "--format", "json")
        (problem,) = done.json
        assert problem["notes"][-1] == "on google/pixel-8"


class TestDiff:
    """`diff` compares two profiles on each device."""

    def test_each_device_has_its_own_differences(self, cli: Cli, profiles: Path) -> None:
        sides = ("diff", "generic/any", "profiles/acme/pi.toml", *BOTH)
        found = cli(*sides, "--program", "model.pte", "--json")
        assert found.status == 1
        one, two = found.json["differences"]
        assert (one["device"], one["program"]) == ("raspberry-pi/pi-5", "model.pte")
        assert [each["new"]["value"] for each in one["changes"]] == [4]
        assert [each["new"]["value"] for each in two["changes"]] == [9]
        text = cli(*sides, "--program", "model.pte").stdout
        assert "device raspberry-pi/pi-5, model.pte\n\n" in text
        assert "num_threads: 1 → 9" in text

    def test_equal_ones_exit_with_0_and_failures_with_2(self, cli: Cli, profiles: Path) -> None:
        done = cli("diff", "generic/any", "generic/any", *BOTH, "--program", "model.pte")
        assert (done.status, done.stdout.count("The options are the same.")) == (0, 2)
        failing = cli("diff", "generic/any", "profiles/acme/phone.toml", *BOTH, "--program", "model.pte")
        assert failing.status == 2

    def test_the_result_of_several_devices_is_refused_by_name(self, cli: Cli, place: Path) -> None:
        (place / "all.json").write_text(cli("resolve", "model.pte", *BOTH, "--json").stdout)
        done = cli("diff", "all.json", "all.json")
        assert (done.status, done.stdout) == (2, "")
        assert "all.json has the resolutions of several devices or programs" in done.stderr
        assert "`etconfig matrix --expect` compares several devices" in done.stderr

    def test_a_side_may_be_a_known_device(self, cli: Cli) -> None:
        done = cli("diff", "device:pi-5", "device:raspberry-pi/pi-5", "--profile", "generic/any")
        assert (done.status, done.stdout) == (0, "The options are the same.\n")
        refused = cli("diff", "device:pi-5", "facts:device.json", *BOTH)
        assert "both sides name a device already" in refused.stderr


class TestLock:
    """`lock` covers several devices; `--locked` compares with the one of the name, else with the nearest."""

    LOCK = ("model.pte", "--profile", "profiles/acme/pi.toml")

    @pytest.fixture
    def locked(self, cli: Cli, profiles: Path, place: Path) -> Path:
        sheet(place / "small.json", {"os.name": "linux", "cpu.logical_cores": 2})
        done = cli("lock", *self.LOCK, "--facts", "small.json", "--device", "pi-5")
        assert (done.status, done.stdout) == (0, "22 options of 2 devices written to etconfig.lock\n")
        return place / "etconfig.lock"

    def devices(self, path: Path) -> list[dict[str, Any]]:
        return list(json.loads(path.read_text())["devices"])

    def test_each_device_has_its_facts_and_options(self, locked: Path) -> None:
        found = {each["name"]: each for each in self.devices(locked)}
        assert list(found) == ["raspberry-pi/pi-5", "small"]
        option = "forward:ReferenceCpuBackend.num_threads"
        assert [each["options"][option] for each in found.values()] == [4, 2]
        assert found["small"]["facts"] == {"cpu.logical_cores": 2}

    def test_each_is_checked_by_its_name(self, locked: Path, cli: Cli) -> None:
        both = ("--facts", "small.json", "--device", "pi-5")
        assert cli("resolve", *self.LOCK, *both, "--locked").status == 0
        done = cli("resolve", *self.LOCK, *both, "--fact", "cpu.logical_cores=4", "--locked")
        assert done.status == 2
        assert "2 differences in facts, options" in done.stderr
        assert "note: small: facts: cpu.logical_cores: 2 → 4\n" in done.stderr
        assert "profile acme/pi" in done.stdout  # the other device is as locked

    def test_a_device_of_another_name_is_compared_with_the_nearest(self, locked: Path, cli: Cli) -> None:
        shutil.copy(locked.with_name("small.json"), locked.with_name("another.json"))
        assert cli("resolve", *self.LOCK, "--facts", "another.json", "--locked").status == 0
        done = cli("resolve", *self.LOCK, "--device", "pixel-8", "--locked")
        assert done.status == 2
        assert (
            "note: devices: 'google/pixel-8' is not among 'raspberry-pi/pi-5', 'small'; "
            "compared with 'small'\n" in done.stderr
        )
        assert done.stderr.endswith(
            "help: to lock 'google/pixel-8', too, add it to the command that wrote the lock: `etconfig lock` "
            "with the same program and options, and --device or --facts for every device\n"
        )

    def test_a_changed_program_is_named_as_such(self, locked: Path, cli: Cli, place: Path) -> None:
        shutil.copy(Path(__file__).parents[1] / "data" / "programs" / "add.pte", place / "add.pte")
        done = cli("resolve", "add.pte", *self.LOCK[1:], "--device", "pi-5", "--locked")
        (message,) = (line for line in done.stderr.splitlines() if "out of date" in line)
        assert " in program, " in message

    def test_a_comment_changes_nothing_and_a_value_does(self, locked: Path, cli: Cli) -> None:
        profile = locked.parent / "profiles" / "acme" / "pi.toml"
        profile.write_text(f"# threads\n{FOR_PI}")
        assert cli("resolve", *self.LOCK, "--device", "pi-5", "--locked").status == 0
        profile.write_text(FOR_PI.replace("cpu.logical_cores", "cpu.logical_cores + 0"))
        done = cli("resolve", *self.LOCK, "--device", "pi-5", "--locked")
        assert "1 difference in profiles" in done.stderr

    def test_nothing_is_written_if_a_device_does_not_resolve(
        self, cli: Cli, profiles: Path, place: Path
    ) -> None:
        done = cli("lock", "model.pte", *PROFILES, *BOTH)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith("device google/pixel-8, model.pte:\nerror[")
        assert not (place / "etconfig.lock").exists()
