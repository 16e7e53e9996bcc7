"""`etconfig pack`, `inspect` and `resolve` on bundles, and the same in Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import etconfig
from etconfig.device.bundle.bundle_reader import read_tables
from etconfig.errors import ConfigError

PROFILE = """\
[profile]
name = "acme/camera"
match = 'device.model == "Acme"'

[options.ReferenceCpuBackend]
num_threads = { expr = "min(cpu.available_cores, 2)" }

[instances.left]
method = "forward"
[instances.left.options.ReferenceNpuBackend]
core = 1

[[when]]
if = 'power.source == "battery"'
[when.options.ReferenceCpuBackend]
num_threads = 1
"""


@pytest.fixture
def profiles(place: Path) -> Path:
    """A directory with one profile of a device."""
    folder = place / "profiles" / "acme"
    folder.mkdir(parents=True)
    (folder / "camera.toml").write_text(PROFILE)
    return place / "profiles"


def decided(outcome: Any) -> dict[tuple[str, str | None, str, str], Any]:
    rows = json.loads(outcome.stdout)["arguments"]
    return {
        (row["method"], row["instance"], row["backend"], name): option["value"]
        for row in rows
        for name, option in row["options"].items()
    }


class TestPack:
    """Without facts, the conditions travel."""

    def test_where_a_project_lies_changes_nothing(
        self, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        packed = []
        for name in ("here", "there"):
            project = tmp_path / name
            project.mkdir()
            options = PROFILE[PROFILE.index("[options") :]
            (project / "etconfig.toml").write_text(
                f'profile = "acme.toml"\n{options}[facts]\n"cpu.cache.l2" = 4096\n'
            )
            (project / "acme.toml").write_text(PROFILE)
            monkeypatch.chdir(project)
            assert cli("pack", "-o", "app.etbundle").status == 0
            packed.append((project / "app.etbundle").read_bytes())
        assert packed[0] == packed[1]
        assert str(tmp_path).encode() not in packed[0]
        assert b"project etconfig.toml:" in packed[0]

    def test_a_bundle_decides_what_the_resolver_does(
        self, place: Path, profiles: Path, cli: Callable[..., Any]
    ) -> None:
        options = ("--profile-path", str(profiles))
        packed = cli("pack", "model.pte", *options, "--output", "app.etbundle")
        assert packed.status == 0, packed.stderr
        assert "profiles written to app.etbundle" in packed.stdout
        for facts in (
            ("--fact", "device.model=Acme"),
            ("--fact", "device.model=Acme", "--fact", "power.source=battery"),
            (),
        ):
            device = ("--facts", "device.json", *facts, "--json")
            resolver = cli("resolve", "model.pte", *options, *device)
            bundle = cli("resolve", "--bundle", "app.etbundle", *device)
            assert decided(bundle) == decided(resolver)
            expected, found = json.loads(resolver.stdout), json.loads(bundle.stdout)
            assert found["profile"] == expected["profile"]
            assert found["is_fallback"] == expected["is_fallback"]

    def test_a_named_profile_is_used_without_selecting(
        self, place: Path, profiles: Path, cli: Callable[..., Any]
    ) -> None:
        named = ("--profile", str(profiles / "acme" / "camera.toml"))
        assert cli("pack", "model.pte", *named, "-o", "app.etbundle").status == 0
        found = cli("resolve", "--bundle", "app.etbundle", "--facts", "device.json", "--json")
        assert json.loads(found.stdout)["profile"] == "acme/camera"
        assert json.loads(found.stdout)["selected_by"] is None
        assert "without selecting" in cli("inspect", "app.etbundle").stdout

    def test_nothing_of_this_machine_is_packed_by_accident(
        self, place: Path, cli: Callable[..., Any]
    ) -> None:
        for arguments, problem in (
            (("-o", "a.bin"), "the name of a bundle ends in .etbundle"),
            (("--emit", "cpp"), "code contains no conditions: give --facts or --device, or --here"),
            (("--here", "-o", "a.bin"), "the name of a bundle ends in .etbundle"),
            (
                ("--here", "--facts", "device.json", "-o", "a.etbundle"),
                "give --here, or --facts and",
            ),
            (("--here", "--strict", "-o", "a.etbundle"), "--strict is for conditions"),
            (("--emit", "cpp", "-o", "a.etbundle"), "leave out --emit to write a.etbundle"),
        ):
            outcome = cli("pack", "model.pte", *arguments)
            assert outcome.status == 2
            assert problem in outcome.stderr
        assert not [*place.glob("a.*")]

    def test_the_name_of_a_bundle_says_what_it_is(self, place: Path, cli: Callable[..., Any]) -> None:
        for name in ("app2.txt", "app", "app.pte2"):
            outcome = cli("pack", "model.pte", "-o", name)
            assert outcome.status == 2
            assert f"{name}: the name of a bundle ends in .etbundle" in outcome.stderr
            assert not (place / name).exists()
        assert cli("pack", "model.pte", "-o", "APP.ETBUNDLE").status == 0
        assert cli("inspect", "APP.ETBUNDLE").status == 0

    def test_auto_is_given_alone(self, place: Path, cli: Callable[..., Any]) -> None:
        outcome = cli("pack", "--profile", "auto", "--profile", "generic/any", "-o", "app.etbundle")
        assert outcome.status == 2
        assert "give --profile auto alone" in outcome.stderr
        assert cli("pack", "--profile", "auto", "--profile", "auto", "-o", "app.etbundle").status == 0

    def test_this_machine_is_packed_on_request(self, place: Path, cli: Callable[..., Any]) -> None:
        assert cli("pack", "model.pte", "--here", "-o", "a.etbundle").status == 0

    def test_several_programs_share_a_bundle(self, place: Path, cli: Callable[..., Any]) -> None:
        (place / "other.pte").write_bytes((place / "model.pte").read_bytes())
        assert cli("pack", "model.pte", "other.pte", "-o", "two.etbundle").status == 0
        assert cli("pack", "model.pte", "-o", "one.etbundle").status == 0
        assert (place / "two.etbundle").read_bytes() == (place / "one.etbundle").read_bytes()

    def test_equal_input_gives_equal_bytes_in_every_process(self, place: Path, profiles: Path) -> None:
        found = set()
        for seed in ("1", "2"):
            command = [sys.executable, "-m", "etconfig", "pack", "model.pte", "--profile-path", "profiles"]
            environment = {**os.environ, "PYTHONHASHSEED": seed}
            subprocess.run([*command, "-o", f"{seed}.etbundle"], check=True, env=environment)
            found.add((place / f"{seed}.etbundle").read_bytes())
        assert len(found) == 1


class TestModels:
    """The models of the project are packed."""

    @staticmethod
    def declared(folder: Path, name: str, file: str = "model.pte") -> None:
        folder.mkdir(exist_ok=True)
        (folder / "models.toml").write_text(f'[model.{name}]\n[[model.{name}.variants]]\nfile = "{file}"\n')

    def test_with_their_needs(self, place: Path, cli: Callable[..., Any]) -> None:
        model = '[model.digits]\nfallback = true\n[[model.digits.variants]]\nfile = "model.pte"\n'
        (place / "etconfig.toml").write_text(model + 'when = "cpu.available_cores > 2"\n')
        assert cli("pack", "model.pte", "-o", "app.etbundle").status == 0
        (found,) = json.loads(cli("inspect", "app.etbundle", "--json").stdout)["models"]
        backends = ["ReferenceCpuBackend", "ReferenceNpuBackend"]
        of_program = {"file": "model.pte", "backend": None}
        variant = {**of_program, "when": "cpu.available_cores > 2", "needs": backends}
        assert found == {"name": "digits", "fallback": True, "variants": [variant]}

    def test_files_are_named_relative_to_the_project(self, place: Path, cli: Callable[..., Any]) -> None:
        (place / "etconfig.toml").write_text('models = ["a/models.toml", "b/models.toml", "c/models.toml"]\n')
        for name in "ab":
            self.declared(place / name, name)
            (place / name / "model.pte").write_bytes((place / "model.pte").read_bytes())
        self.declared(place / "c", "c", "../model.pte")
        assert cli("pack", "model.pte", "-o", "app.etbundle").status == 0
        found = json.loads(cli("inspect", "app.etbundle", "--json").stdout)["models"]
        files = {model["name"]: model["variants"][0]["file"] for model in found}
        assert files == {"a": "a/model.pte", "b": "b/model.pte", "c": "model.pte"}

    def test_different_files_elsewhere_need_different_names(
        self, place: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = place / "project"
        project.mkdir()
        (project / "etconfig.toml").write_text('models = ["../a/models.toml", "../b/models.toml"]\n')
        for name in "ab":
            self.declared(place / name, name)
            (place / name / "model.pte").write_bytes((place / "model.pte").read_bytes())
        monkeypatch.chdir(project)
        outcome = cli("pack", "../model.pte", "-o", "app.etbundle")
        assert outcome.status == 2
        assert "error[cannot-carry]: a bundle cannot carry two files called 'model.pte'" in outcome.stderr
        assert not (project / "app.etbundle").exists()
        self.declared(place / "b", "b", "../b/model.pte")
        assert cli("pack", "../model.pte", "-o", "app.etbundle").status == 0


class TestRefusals:
    """Whatever may fail on a device is refused, at its place."""

    @pytest.mark.parametrize(
        ("setting", "code", "problem"),
        [
            ('core = { expr = "cpu.available_cores" }', "unproven-value", "may be more than 3"),
            ('core = { expr = "0 - cpu.available_cores" }', "invalid-value", "is at most -1"),
        ],
    )
    def test_a_value_that_may_leave_its_bounds(
        self, place: Path, cli: Callable[..., Any], setting: str, code: str, problem: str
    ) -> None:
        text = f'[profile]\nname = "acme/x"\n[options.ReferenceNpuBackend]\n{setting}\n'
        (place / "x.toml").write_text(text)
        outcome = cli("pack", "model.pte", "--profile", "x.toml", "-o", "app.etbundle")
        assert outcome.status == 2
        assert f"error[{code}]" in outcome.stderr
        assert problem in outcome.stderr
        assert "x.toml:4" in outcome.stderr
        assert not (place / "app.etbundle").exists()

    def test_a_damaged_file(self, place: Path, cli: Callable[..., Any]) -> None:
        (place / "app.etbundle").write_bytes(b"no bundle")
        for command in (("inspect", "app.etbundle"), ("resolve", "--bundle", "app.etbundle")):
            outcome = cli(*command)
            assert outcome.status == 2
            assert "error[invalid-bundle]: app.etbundle is not a device bundle" in outcome.stderr

    def test_a_bundle_that_cannot_be_read_is_still_called_one(
        self, place: Path, cli: Callable[..., Any]
    ) -> None:
        cli("pack", "-o", "app.etbundle")
        data = (place / "app.etbundle").read_bytes()
        root = int.from_bytes(data[:4], "little")
        table = root - int.from_bytes(data[root : root + 4], "little", signed=True)
        version = root + int.from_bytes(data[table + 4 : table + 6], "little")
        (place / "older.etbundle").write_bytes(data[:version] + b"\1\0" + data[version + 2 :])
        (place / "cut.etbundle").write_bytes(data[: len(data) // 2])
        for name, problem in (
            ("older.etbundle", "its version is 1, and this etconfig reads version 2"),
            ("cut.etbundle", "it ends too early"),
        ):
            outcome = cli("inspect", name)
            assert outcome.status == 2
            assert outcome.stderr == (
                f"error[invalid-bundle]: {name} is a device bundle that cannot be read: {problem}\n"
                f" --> {name}:1:1\n"
                "  = help: write it again with `etconfig pack` of this version\n"
            )

    def test_a_bundle_stands_for_itself(self, place: Path, cli: Callable[..., Any]) -> None:
        for option in ("model.pte", "--require-match", "--toml", "--locked"):
            outcome = cli("resolve", "--bundle", "app.etbundle", option)
            assert outcome.status == 2
            assert "--bundle has profiles and options in it: leave out" in outcome.stderr

    def test_a_fact_that_the_bundle_sets_cannot_be_set(
        self, place: Path, profiles: Path, cli: Callable[..., Any]
    ) -> None:
        (place / "etconfig.toml").write_text('[facts]\n"device.model" = "Acme"\n')
        camera = profiles / "acme" / "camera.toml"
        camera.write_text(PROFILE + '[facts]\n"cpu.available_cores" = 2\n')
        options = ("--profile-path", str(profiles))
        assert cli("pack", "model.pte", *options, "-o", "app.etbundle").status == 0
        for fact, place_of in (
            ("device.model=Other", "project etconfig.toml:2"),
            ("cpu.available_cores=7", "camera.toml:1"),
        ):
            outcome = cli("resolve", "--bundle", "app.etbundle", "--facts", "device.json", "--fact", fact)
            name = fact.partition("=")[0]
            assert outcome.status == 2
            assert f"the bundle sets {name} by hand (" in outcome.stderr
            assert place_of in outcome.stderr
            assert f"leave out --fact {name}" in outcome.stderr
        facts = ("--facts", "device.json", "--fact", "power.source=battery")
        assert cli("resolve", "--bundle", "app.etbundle", *facts).status == 0

    def test_a_bundle_is_decided_without_the_project_file(self, place: Path, cli: Callable[..., Any]) -> None:
        assert cli("pack", "model.pte", "-o", "app.etbundle").status == 0
        for malformed in ("not TOML", "[plugins]\nallow = 3\n"):
            (place / "etconfig.toml").write_text(malformed)
            outcome = cli("resolve", "--bundle", "app.etbundle", "--facts", "device.json")
            assert outcome.status == 0, outcome.stderr

    @pytest.mark.parametrize(
        "option", [("--memory-plan", "plan.svg"), ("--data", "x.ptd"), ("--executor", "numpy")]
    )
    def test_a_bundle_is_not_a_program(
        self, place: Path, cli: Callable[..., Any], option: tuple[str, str]
    ) -> None:
        assert cli("pack", "model.pte", "-o", "app.etbundle").status == 0
        (place / "x.ptd").write_bytes(b"")
        outcome = cli("inspect", "app.etbundle", *option)
        assert outcome.status == 2
        assert f"app.etbundle is not a program: leave out {option[0]}" in outcome.stderr


class TestPython:
    """`etconfig.pack_bundle` and `etconfig.load_bundle`."""

    def test_a_bundle_is_saved_and_loaded(self, place: Path) -> None:
        program = etconfig.load_program("model.pte")
        bundle = etconfig.pack_bundle(program, profiles=["generic/any"])
        bundle.save("app.etbundle")
        loaded = etconfig.load_bundle("app.etbundle")
        assert loaded.tables == read_tables(bundle.to_bytes())
        assert loaded.profile_names == ("generic/any",)
        assert loaded.fingerprint == bundle.fingerprint
        assert loaded.provider_of("generic/any") == "bundled"
        assert repr(loaded).startswith("<DeviceBundle: 1 profile, ")

    def test_a_file_that_is_named_twice_is_packed_once(self, place: Path) -> None:
        (place / "a.toml").write_text('[profile]\nname = "a"\n')
        bundle = etconfig.pack_bundle(profiles=["a.toml", Path("a.toml")])
        assert bundle.profile_names == ("a",)
        assert bundle.fingerprint == etconfig.pack_bundle(profiles=[Path("a.toml")]).fingerprint

    def test_a_profile_that_is_not_in_it_is_refused(self, place: Path) -> None:
        bundle = etconfig.pack_bundle(profiles=["generic/any"])
        with pytest.raises(ConfigError, match="has no profile 'generic/an'"):
            bundle.resolve(etconfig.load_fact_sheet("device.json"), "generic/an")

    def test_a_profile_is_named_by_text(self) -> None:
        bundle = etconfig.pack_bundle(profiles=["generic/any"])
        with pytest.raises(TypeError, match="profile: expected the name of a profile"):
            bundle.resolve(etconfig.FactSheet.empty(), profile=3)  # type: ignore[arg-type]

    def test_profiles_are_one_or_more(self) -> None:
        with pytest.raises(ValueError, match="expected at least one, given none; leave it out to pack all"):
            etconfig.pack_bundle(profiles=[])
        with pytest.raises(ValueError, match="'auto' stands for every profile that can be selected"):
            etconfig.pack_bundle(profiles=["auto", "generic/any"])

    def test_a_profile_given_twice_is_one(self) -> None:
        twice = etconfig.pack_bundle(profiles=["generic/any", "generic/any"])
        assert twice.to_bytes() == etconfig.pack_bundle(profiles=["generic/any"]).to_bytes()

    def test_require_match_is_true_or_false(self) -> None:
        with pytest.raises(TypeError, match="require_match: expected True or False, given str"):
            etconfig.pack_bundle(require_match="no")  # type: ignore[arg-type]

    def test_a_fallback_may_be_refused(self, place: Path) -> None:
        bundle = etconfig.pack_bundle(require_match=True)
        with pytest.raises(ConfigError, match="the bundle refuses it"):
            bundle.select(etconfig.FactSheet.empty())
        assert etconfig.pack_bundle().select(etconfig.FactSheet.empty()).is_fallback


class TestTooLarge:
    """Packing refuses bundles that devices would refuse."""

    def test_an_expression_that_joins_too_much_is_named(self, place: Path, cli: Callable[..., Any]) -> None:
        profile = place / "profiles" / "acme" / "wide.toml"
        profile.parent.mkdir(parents=True)
        text = " + ".join(["soc.model"] * 9)
        profile.write_text(f'[profile]\nname = "acme/wide"\nmatch = \'({text}).contains("a")\'\n')
        outcome = cli("pack", "--profile-path", "profiles", "--profile", "acme/wide", "-o", "a.etbundle")
        assert outcome.status == 2
        assert "error[cannot-carry]: a bundle cannot carry this configuration: the expression (soc.model" in (
            outcome.stderr
        )
        assert "it may join texts or build lists of more than 8192 bytes" in outcome.stderr

    def test_a_fact_that_is_too_long_is_an_error(self, profiles: Path, cli: Callable[..., Any]) -> None:
        assert cli("pack", "--profile-path", str(profiles), "-o", "a.etbundle").status == 0
        outcome = cli("resolve", "--bundle", "a.etbundle", "--fact", f"device.model={'A' * 1025}")
        assert outcome.status == 2
        assert (
            "error[invalid-fact-value]: fact 'device.model': it is longer than devices accept"
            in outcome.stderr
        )
