"""`etconfig pack`, and `etconfig inspect` of the files that it writes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import DATA, ON_DEVICE, Outcome, error
from packed_options import with_texts

from etconfig import load_bundle
from etconfig.device import device_include_dir

PI5 = DATA / "sheets" / "raspberry-pi-5.json"
LAPTOP = DATA / "sheets" / "laptop-on-battery.json"
Cli = Callable[..., Outcome]


def values_of(resolution: Any) -> list[tuple[object, ...]]:
    return [
        (row["method"], row["instance"], row["backend"], name, option["value"])
        for row in resolution["arguments"]
        for name, option in row["options"].items()
    ]


class TestConfigurations:
    """With --facts, a bundle contains one or more configurations, each under a unique name."""

    def test_one_device_has_the_name_that_it_has_beside_others(self, cli: Cli, place: Path) -> None:
        done = cli("pack", "model.pte", "--facts", PI5, "-o", "x.etbundle")
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout.startswith("1 configuration written to x.etbundle: ")
        assert load_bundle("x.etbundle").profile_names == ("raspberry-pi-5",)
        cli("pack", "model.pte", "--profile", "generic/any", "--device", "pixel-8", "-o", "y.etbundle")
        assert load_bundle("y.etbundle").profile_names == ("google/pixel-8",)

    def test_it_has_the_values_and_the_fingerprint_of_resolve(self, cli: Cli, place: Path) -> None:
        asked = ("model.pte", *ON_DEVICE, "--set", "forward:ReferenceNpuBackend.core=2")
        resolved = cli("resolve", *asked, "--json").json
        cli("pack", *asked, "-o", "x.etbundle")
        bundle = load_bundle("x.etbundle")
        assert bundle.configuration(*bundle.profile_names).fingerprint == resolved["fingerprint"]
        assert values_of(bundle.resolve().to_jsonable()) == values_of(resolved)

    def test_options_that_were_set_are_marked(self, cli: Cli, place: Path) -> None:
        cli("pack", "model.pte", *ON_DEVICE, "--set", "embed:ReferenceNpuBackend.core=0", "-o", "x.etbundle")
        bundle = load_bundle("x.etbundle")
        (embed, *_) = bundle.configuration(*bundle.profile_names).methods
        assert [option.name for _, option in embed.options() if option.is_set] == ["core"]

    def test_several_devices_have_the_names_of_their_sheets(self, cli: Cli, place: Path) -> None:
        done = cli("pack", "model.pte", "--facts", PI5, "--facts", LAPTOP, "-o", "x.etbundle")
        assert done.stdout.startswith("2 configurations written to x.etbundle: ")
        assert load_bundle("x.etbundle").profile_names == ("laptop-on-battery", "raspberry-pi-5")

    def test_known_devices_have_their_names(self, cli: Cli, place: Path) -> None:
        devices = ("--device", "google/pixel-8", "--facts", PI5, "--device", "raspberry-pi/pi-5")
        assert cli("pack", "model.pte", *devices, "-o", "x.etbundle").status == 0
        names = ("google/pixel-8", "raspberry-pi-5", "raspberry-pi/pi-5")
        assert load_bundle("x.etbundle").profile_names == names

    def test_several_profiles_are_packed_under_their_names(self, cli: Cli, place: Path) -> None:
        profiles = ("--profile", "generic/any", "--profile", "raspberry-pi/pi-5")
        cli("pack", "model.pte", *profiles, "--facts", PI5, "-o", "x.etbundle")
        assert load_bundle("x.etbundle").profile_names == ("generic/any", "raspberry-pi/pi-5")

    def test_this_machine_is_one_of_them(self, cli: Cli, place: Path) -> None:
        assert cli("pack", "model.pte", "--here", "-o", "x.etbundle").status == 0
        here = cli("resolve", "model.pte", "--json").json
        found = cli("resolve", "--bundle", "x.etbundle", "--json").json
        assert values_of(found) == values_of(here)

    def test_several_programs_share_a_bundle(self, cli: Cli, place: Path) -> None:
        shutil.copy(DATA / "programs" / "add.pte", "add.pte")
        assert cli("pack", "model.pte", "add.pte", "--facts", PI5, "-o", "x.etbundle").status == 0
        bundle = load_bundle("x.etbundle")
        assert [slot.method for slot in bundle.resolve().slots] == ["embed", "forward"]

    def test_models_keep_their_conditions(self, cli: Cli, place: Path) -> None:
        (place / "etconfig.toml").write_text(
            '[[model.digits.variants]]\nfile = "model.pte"\nwhen = \'power.source == "mains"\'\n'
        )
        assert cli("pack", "model.pte", "--facts", PI5, "-o", "x.etbundle").status == 0
        described = cli("inspect", "x.etbundle", "--json").json
        assert described["models"][0]["variants"][0]["when"] == 'power.source == "mains"'
        assert [fact["name"] for fact in described["facts"]] == ["power.source", "runtime.backends"]
        assert cli("resolve", "--bundle", "x.etbundle").status == 0

    def test_options_that_nothing_passes_on_are_noted(self, cli: Cli, place: Path) -> None:
        budget = f"forward:ReferenceCpuBackend.scratch_bytes={2**33}"
        done = cli("pack", "model.pte", "--facts", PI5, "--set", budget, "-o", "x.etbundle")
        assert done.status == 0
        assert (
            "note[cannot-carry]: ExecuTorch's option map cannot carry ReferenceCpuBackend.scratch_bytes: its "
            "integers have 32 bits, and 8589934592 needs more\n"
            "  = help: the bundle has it: let the application read it there and apply it"
        ) in done.stderr


class TestInspect:
    """`inspect` shows the configurations of a bundle, and `resolve` one of them."""

    def test_it_is_a_table(self, cli: Cli) -> None:
        cli("pack", "model.pte", *ON_DEVICE, "--profile", "generic/any", "-o", "x.etbundle")
        head, release, counts, used, _, title, columns, first, *_ = cli(
            "inspect", "x.etbundle"
        ).stdout.splitlines()
        assert head.startswith("written by etconfig ")
        assert release.endswith(", without revision; not signed")
        assert counts.startswith("1 configuration, 2 backends, 0 facts; ")
        assert used == "devices use configuration device without selecting"
        assert title.startswith("device: sha256:")
        assert columns.split() == ["METHOD", "BACKEND", "OPTION", "VALUE", "SENT", "AS", "SCOPE"]
        assert first.split() == ["embed", "ReferenceNpuBackend", "core", "0", "core", "=", "0", "method"]

    def test_control_characters_do_not_reach_the_terminal(self, cli: Cli, place: Path) -> None:
        assert cli("pack", "model.pte", "--facts", PI5, "-o", "x.etbundle").status == 0
        odd = {"embed": "a\x1b[2J", "ReferenceNpuBackend": "b\u202e", "core": "c\n", "balanced": "d\r"}
        with_texts(load_bundle("x.etbundle"), odd, "e\x07").save("odd.etbundle")
        done = cli("inspect", "odd.etbundle")
        assert done.status == 0, done.stderr
        assert all(c.isprintable() or c == "\n" for c in done.stdout)
        row = done.stdout.splitlines()[7].split()
        assert row == [r"a\u001b[2J", r"b\u202e", r"c\u000a", "0", r"c\u000a", "=", "0", "method"]

    def test_it_is_data_with_json(self, cli: Cli) -> None:
        cli("pack", "model.pte", *ON_DEVICE, "-o", "x.etbundle")
        (profile,) = cli("inspect", "x.etbundle", "--json").json["profiles"]
        assert profile["fingerprint"].startswith("sha256:")
        row = profile["arguments"][0]
        assert (row["method"], row["instance"], row["backend"]) == ("embed", None, "ReferenceNpuBackend")
        assert row["options"]["core"] == {
            "value": 0,
            "key": "core",
            "sent": 0,
            "scope": "method",
            "applies": "load",
            "is_set": False,
            "origin": "default ReferenceNpuOptions",
        }

    def test_a_file_that_was_changed_is_refused(self, cli: Cli, place: Path) -> None:
        cli("pack", "model.pte", "--facts", PI5, "-o", "x.etbundle")
        data = (place / "x.etbundle").read_bytes()
        assert data.count(b"balanced\0") == 1
        (place / "x.etbundle").write_bytes(data.replace(b"balanced\0", b"balancer\0"))
        done = cli("inspect", "x.etbundle")
        assert done.status == 2
        assert (
            "error[invalid-bundle]: the bundle was changed after it was written: its content does not have "
            "its fingerprint; the values of configuration 'raspberry-pi-5' do not have its fingerprint\n"
            " --> x.etbundle:1:1\n"
        ) in done.stderr

    def test_a_configuration_is_named(self, cli: Cli) -> None:
        cli("pack", "model.pte", "--facts", PI5, "--facts", LAPTOP, "-o", "x.etbundle")
        shown = cli("resolve", "--bundle", "x.etbundle", "--profile", "laptop-on-battery").stdout
        assert shown.startswith("profile laptop-on-battery\n")
        assert "default ReferenceCpuOptions (fact cpu.available_cores)" in shown
        done = cli("resolve", "--bundle", "x.etbundle")
        assert done.status == 2
        assert "help: name one: laptop-on-battery, raspberry-pi-5" in done.stderr

    @pytest.mark.parametrize("given", [("--facts", PI5), ("--fact", "cpu.available_cores=2")])
    def test_facts_for_what_is_resolved_are_refused(self, cli: Cli, given: tuple[object, ...]) -> None:
        cli("pack", "model.pte", "--facts", PI5, "-o", "x.etbundle")
        done = cli("resolve", "--bundle", "x.etbundle", *given)
        message = "configuration raspberry-pi-5 was resolved when packing: leave out --facts and --fact"
        assert done == Outcome(2, "", error(message, "see `etconfig resolve --help`"))


class TestUsage:
    """Options that do not go together are refused."""

    def test_nothing_to_write_is_refused(self, cli: Cli) -> None:
        done = cli("pack", "model.pte")
        assert done.status == 2
        assert "give --output FILE.etbundle or --emit LANGUAGE" in done.stderr

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("-o", "x.h"), "give --emit cpp to write code to x.h, or --output FILE.etbundle"),
            (("-o", "X.KT"), "give --emit kotlin to write code to X.KT, or --output FILE.etbundle"),
            (("-o", "x.swift"), "give --emit swift to write code to x.swift, or --output FILE.etbundle"),
            (
                ("-o", "x.etbundle", "--emit", "cpp"),
                "leave out --emit to write x.etbundle, or give --output another name",
            ),
            (
                ("-o", "x.txt"),
                "x.txt: the name of a bundle ends in .etbundle, by which commands know it; give --output "
                "x.etbundle",
            ),
            (
                ("-o", "x"),
                "x: the name of a bundle ends in .etbundle, by which commands know it; give --output "
                "x.etbundle",
            ),
            (
                ("-o", "x.txt", "--emit", "kotlin"),
                "x.txt: the name of a file for --emit kotlin ends in .kt or .kts",
            ),
            (
                ("-o", "x.swift", "--emit", "cpp"),
                "x.swift: the name of a file for --emit cpp ends in .h or .hh or .hpp or .hxx or .inc or "
                ".cc or .cpp or .cxx",
            ),
        ],
    )
    def test_a_file_is_not_called_like_one_of_the_other_kind(
        self, cli: Cli, place: Path, arguments: tuple[str, ...], message: str
    ) -> None:
        done = cli("pack", "model.pte", *ON_DEVICE, *arguments)
        assert done == Outcome(2, "", error(message, "see `etconfig pack --help`"))
        assert not (place / arguments[1]).exists()

    def test_code_of_several_configurations_is_refused(self, cli: Cli) -> None:
        done = cli("pack", "model.pte", "--facts", PI5, "--facts", LAPTOP, "--emit", "cpp")
        assert done.status == 2
        assert "code contains one configuration: give one --profile, and one device" in done.stderr

    def test_several_profiles_and_several_devices_are_refused(self, cli: Cli) -> None:
        facts = ("--facts", PI5, "--facts", LAPTOP)
        done = cli("pack", *facts, "--profile", "a", "--profile", "b", "-o", "x.etbundle")
        assert done.status == 2
        assert "give several --profile or several --facts, not both" in done.stderr

    def test_one_name_twice_is_refused(self, cli: Cli, place: Path) -> None:
        twice = ("--profile", "generic/any") * 2
        done = cli("pack", "model.pte", *twice, *ON_DEVICE, "-o", "x.etbundle")
        assert done.status == 2
        assert "two configurations would be called 'generic/any'; give each once" in done.stderr
        assert not (place / "x.etbundle").exists()

    def test_a_sheet_given_twice_is_packed_once_and_equal_names_are_told_apart(
        self, cli: Cli, place: Path
    ) -> None:
        (place / "other").mkdir()
        shutil.copy("device.json", "other/device.json")
        assert cli("pack", "model.pte", *ON_DEVICE, "--facts", "device.json", "-o", "x.etbundle").status == 0
        assert load_bundle(place / "x.etbundle").profile_names == ("device",)
        assert cli("pack", "model.pte", *ON_DEVICE, "--facts", "other", "-o", "x.etbundle").status == 0
        names = load_bundle(place / "x.etbundle").profile_names
        assert {*names} == {f"{place.name}/device", "other/device"}

    @pytest.mark.parametrize("name", ["model.pte", "./model.pte", "device.json", "link", "mine.toml"])
    def test_a_file_that_is_read_is_not_replaced(self, cli: Cli, place: Path, name: str) -> None:
        (place / "link").symlink_to("model.pte")
        (place / "mine.toml").write_text('[profile]\nname = "acme/mine"\n')
        before = (place / name).read_bytes()
        for form in ((), ("--emit", "cpp")):
            done = cli("pack", "model.pte", *ON_DEVICE, "--profile", "mine.toml", *form, "-o", name)
            message = f"cannot write {Path(name)}: the command reads it; give another file"
            assert done == Outcome(2, "", error(message))
        assert (place / name).read_bytes() == before

    def test_a_path_that_cannot_be_written_is_an_error(self, cli: Cli) -> None:
        done = cli("pack", "model.pte", *ON_DEVICE, "-o", "missing/x.etbundle")
        assert done == Outcome(
            2,
            "",
            error(
                "cannot write missing/x.etbundle: No such file or directory; "
                "create the directory 'missing' first"
            ),
        )


class TestHeaders:
    """`--header` writes all that C and C++ need, as it is included."""

    def test_the_files_are_those_of_the_package(self, cli: Cli, place: Path) -> None:
        source = device_include_dir()
        paths = {path.relative_to(source): path for path in source.rglob("*.h")}
        others = ("etconfig_device.cpp", "etdevice/json.h", "etdevice/main.cpp")
        paths |= {Path(name): source.parent / name for name in others}
        done = cli("pack", "--header", "include")
        assert done.stdout == f"{len(paths)} files written to include: #include <etconfig/device.h>\n"
        written = {path.relative_to("include"): path for path in Path("include").rglob("*.*")}
        assert set(written) == set(paths)
        for name, path in paths.items():
            assert written[name].read_bytes() == path.read_bytes()

    def test_no_file_includes_one_that_is_not_there(self, cli: Cli, place: Path) -> None:
        assert cli("pack", "--header", "include").status == 0
        missing = [
            (path, name)
            for path in Path("include").rglob("*.*")
            for name in re.findall(r'^#include (?:<(?=etconfig/)|")([^">]+)', path.read_text(), re.MULTILINE)
            if not any((directory / name).is_file() for directory in (Path("include"), path.parent))
        ]
        assert missing == []

    def test_a_path_that_cannot_be_written_is_an_error(self, cli: Cli, place: Path) -> None:
        (place / "include").write_text("")
        done = cli("pack", "--header", "include/x")
        assert done == Outcome(
            2, "", error("cannot write include/x/etconfig/bundle_store.h: Not a directory")
        )


class TestCode:
    """Code goes to stdout or a file."""

    def test_code_is_the_same_on_stdout_and_in_a_file(self, cli: Cli, place: Path) -> None:
        asked = ("pack", "model.pte", *ON_DEVICE, "--emit", "swift")
        done = cli(*asked, "-o", "Options.swift")
        assert (done.status, done.stdout, done.stderr) == (0, "", "")
        assert (place / "Options.swift").read_text() == cli(*asked).stdout
