"""`etconfig pack`, and `etconfig inspect` of the files that it writes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import DATA, ON_DEVICE, Outcome, error
from packages import configuration, packed

from etconfig.transport import (
    Package,
    PackedBackend,
    PackedMethod,
    include_files,
    load_package,
    write_package,
)

PI5 = DATA / "sheets" / "raspberry-pi-5.json"
LAPTOP = DATA / "sheets" / "laptop-on-battery.json"
Cli = Callable[..., Outcome]


class TestFile:
    """An .etargs file contains one or more configurations, each under a unique name."""

    def test_one_configuration_has_the_name_of_its_profile(self, cli: Cli, place: Path) -> None:
        done = cli("pack", "model.pte", "--facts", PI5, "-o", "x.etargs")
        assert (done.status, done.stdout, done.stderr) == (0, "1 configuration written to x.etargs\n", "")
        assert [each.name for each in load_package(place / "x.etargs").configurations] == [
            "raspberry-pi/pi-5"
        ]

    def test_it_has_the_values_and_the_fingerprint_of_resolve(self, cli: Cli, place: Path) -> None:
        asked = ("model.pte", *ON_DEVICE, "--set", "forward:ReferenceNpuBackend.core=2")
        resolved = cli("resolve", *asked, "--json").json
        cli("pack", *asked, "-o", "x.etargs")
        (configuration,) = load_package(place / "x.etargs").configurations
        assert configuration.fingerprint == resolved["fingerprint"]
        packed = {
            (method.method, method.instance, backend.id): {
                option.name: option.value for option in backend.options
            }
            for method in configuration.methods
            for backend in method.backends
        }
        assert packed == {
            (row["method"], row["instance"], row["backend"]): {
                name: option["value"] for name, option in row["options"].items()
            }
            for row in resolved["arguments"]
        }

    def test_options_that_were_set_are_marked(self, cli: Cli, place: Path) -> None:
        cli("pack", "model.pte", *ON_DEVICE, "--set", "embed:ReferenceNpuBackend.core=0", "-o", "x.etargs")
        (embed, *_) = load_package(place / "x.etargs").configurations[0].methods
        assert [option.name for _, option in embed.options() if option.is_set] == ["core"]

    def test_several_devices_have_the_names_of_their_sheets(self, cli: Cli, place: Path) -> None:
        done = cli("pack", "model.pte", "--facts", PI5, "--facts", LAPTOP, "-o", "x.etargs")
        assert done.stdout == "2 configurations written to x.etargs\n"
        names = [each.name for each in load_package(place / "x.etargs").configurations]
        assert names == ["raspberry-pi-5", "laptop-on-battery"]

    def test_several_profiles_are_packed_under_their_names(self, cli: Cli, place: Path) -> None:
        profiles = ("--profile", "generic/any", "--profile", "raspberry-pi/pi-5")
        cli("pack", "model.pte", *profiles, "--facts", PI5, "-o", "x.etargs")
        names = [each.name for each in load_package(place / "x.etargs").configurations]
        assert names == ["generic/any", "raspberry-pi/pi-5"]


class TestInspect:
    """`inspect` shows the contents of a file."""

    def test_it_is_a_table(self, cli: Cli) -> None:
        cli("pack", "model.pte", *ON_DEVICE, "--profile", "generic/any", "-o", "x.etargs")
        head, _, title, columns, first, *_ = cli("inspect", "x.etargs").stdout.splitlines()
        assert head.startswith("written by etconfig ")
        assert title.startswith("generic/any: sha256:")
        assert columns.split() == ["METHOD", "BACKEND", "OPTION", "VALUE", "SENT", "AS", "SCOPE"]
        assert first.split() == ["embed", "ReferenceNpuBackend", "core", "0", "core", "=", "0", "method"]

    def test_control_characters_do_not_reach_the_terminal(self, cli: Cli, place: Path) -> None:
        odd = PackedMethod("a\x1b[2J", None, (PackedBackend("b\u202e", (packed("c\n", "d\r"),)),))
        data = write_package(Package("e\x07", (configuration("f\x1b", odd),)))
        (place / "x.etargs").write_bytes(data)
        shown = cli("inspect", "x.etargs").stdout
        assert all(c.isprintable() or c == "\n" for c in shown)
        assert shown.splitlines()[-1].split() == [
            r"a\u001b[2J",
            r"b\u202e",
            r"c\u000a",
            "'d\\r'",
            r"c\u000a",
            "=",
            "'d\\r'",
            "method",
        ]

    def test_it_is_data_with_json(self, cli: Cli) -> None:
        cli("pack", "model.pte", *ON_DEVICE, "-o", "x.etargs")
        (configuration,) = cli("inspect", "x.etargs", "--json").json["configurations"]
        row = configuration["arguments"][0]
        assert (row["method"], row["instance"], row["backend"]) == ("embed", None, "ReferenceNpuBackend")
        assert row["options"]["core"] == {
            "value": 0,
            "key": "core",
            "sent": 0,
            "scope": "method",
            "applies": "load",
            "is_set": False,
        }


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
                ("-o", "x.etargs", "--emit", "cpp"),
                "leave out --emit to write x.etargs, or give --output another name",
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
        assert "code contains one configuration: give one --profile and one --facts" in done.stderr

    def test_several_profiles_and_several_devices_are_refused(self, cli: Cli) -> None:
        facts = ("--facts", PI5, "--facts", LAPTOP)
        done = cli("pack", *facts, "--profile", "a", "--profile", "b", "-o", "x.etargs")
        assert done.status == 2
        assert "give several --profile or several --facts, not both" in done.stderr

    def test_one_name_twice_is_refused(self, cli: Cli, place: Path) -> None:
        twice = ("--profile", "generic/any") * 2
        done = cli("pack", "model.pte", *twice, *ON_DEVICE, "-o", "x.etargs")
        assert done.status == 2
        assert "two configurations would be called 'generic/any'; give each once" in done.stderr
        assert not (place / "x.etargs").exists()

    @pytest.mark.parametrize("other", ["device.json", "other/device.json"])
    def test_sheets_of_one_name_are_refused(self, cli: Cli, place: Path, other: str) -> None:
        (place / "other").mkdir()
        shutil.copy("device.json", "other/device.json")
        done = cli("pack", "model.pte", *ON_DEVICE, "--facts", other, "-o", "x.etargs")
        assert done.status == 2
        assert (
            "two configurations would be called 'device'; give each sheet once, and sheets with different"
            " file names"
        ) in done.stderr

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
        done = cli("pack", "model.pte", *ON_DEVICE, "-o", "missing/x.etargs")
        assert done == Outcome(2, "", error("cannot write missing/x.etargs: No such file or directory"))


class TestHeaders:
    """`--header` writes the C++ headers, as they are included."""

    def test_headers_are_those_of_the_package(self, cli: Cli, place: Path) -> None:
        done = cli("pack", "--header", "include")
        assert done.stdout == (
            "include/etconfig/etargs.h written\ninclude/etconfig/etargs_executorch.h written\n"
        )
        for name, content in include_files().items():
            assert (place / "include" / name).read_bytes() == content

    def test_a_path_that_cannot_be_written_is_an_error(self, cli: Cli, place: Path) -> None:
        (place / "include").write_text("")
        done = cli("pack", "--header", "include/x")
        assert done == Outcome(2, "", error("cannot write include/x/etconfig: Not a directory"))


class TestCode:
    """Code goes to stdout or a file."""

    def test_code_is_the_same_on_stdout_and_in_a_file(self, cli: Cli, place: Path) -> None:
        asked = ("pack", "model.pte", *ON_DEVICE, "--emit", "swift")
        done = cli(*asked, "-o", "Options.swift")
        assert (done.status, done.stdout, done.stderr) == (0, "", "")
        assert (place / "Options.swift").read_text() == cli(*asked).stdout
