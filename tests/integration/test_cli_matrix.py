"""`etconfig matrix`: what each device gets, side by side, and compared with a reviewed file."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import tomli
from command_line import DATA, Outcome
from hostile_texts import FORBIDDEN, hostile_texts, without_surrogates

import etconfig

Cli = Callable[..., Outcome]

SHEETS = DATA / "sheets"
THREADS = "forward:ReferenceCpuBackend.num_threads"
SCRATCH = "forward:ReferenceCpuBackend.scratch_bytes"
NEEDS_CORES = """\
[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.performance_cores" }
"""


def write_sheet(path: Path, **facts: object) -> Path:
    """Write a sheet of a few facts; `__` in their names stands for a dot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {name.replace("__", "."): {"value": value} for name, value in facts.items()}
    path.write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": values}))
    return path


@pytest.fixture
def sheets(place: Path) -> Path:
    """The directory `sheets` with those of a phone, a board and a laptop."""
    directory = place / "sheets"
    directory.mkdir()
    for name in ("pixel-8", "raspberry-pi-5", "laptop-on-battery"):
        shutil.copy(SHEETS / f"{name}.json", directory)
    return directory


class TestText:
    """Options are rows and results are columns, in the width of the terminal."""

    def test_devices_have_a_profile_and_a_result_and_options_that_differ_are_compared(
        self, cli: Cli, sheets: Path
    ) -> None:
        done = cli("matrix", "model.pte", "--facts", "sheets/*.json")
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout == (
            "3 devices, 3 profiles, 3 different results\n"
            "\n"
            "DEVICE             PROFILE               RESULT\n"
            "laptop-on-battery  generic/linux-x86_64  1\n"
            "pixel-8            google/tensor-g3      2\n"
            "raspberry-pi-5     raspberry-pi/pi-5     3\n"
            "\n"
            "OPTION                                     laptop-on-battery  pixel-8  raspberry-pi-5\n"
            "forward:ReferenceCpuBackend.num_threads    8                  9        4\n"
            "forward:ReferenceCpuBackend.scratch_bytes  655360             1048576  262144\n"
            "\n"
            "The other 9 options are the same on every device; --all lists them\n"
        )

    def test_all_lists_every_option(self, cli: Cli, sheets: Path) -> None:
        done = cli("matrix", "model.pte", "--facts", "sheets", "--all")
        assert done.stdout.count("Backend.") == 11
        assert "--all" not in done.stdout

    def test_devices_with_one_result_share_a_column(self, cli: Cli, sheets: Path) -> None:
        shutil.copy(sheets / "raspberry-pi-5.json", sheets / "spare.json")
        done = cli("matrix", "model.pte", "--facts", "sheets/[rs]*.json")
        assert "2 devices, 1 profile, 1 result\n" in done.stdout
        assert "All 11 options are the same on every device" in done.stdout

    @pytest.mark.parametrize("width", [60, 80, 120])
    @pytest.mark.parametrize("count", [1, 10, 40])
    def test_no_line_is_wider_than_the_terminal(
        self, cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch, width: int, count: int
    ) -> None:
        monkeypatch.setenv("COLUMNS", str(width))
        for number in range(count):
            sheet = place / "many" / f"acme-board-revision-{number:02}.json"
            write_sheet(sheet, cpu__available_cores=number + 1)
        done = cli("matrix", "model.pte", "--facts", "many", "--all")
        assert done.status == 0
        table, _, _ = done.stdout.partition("\nnote[")
        assert max(map(len, table.splitlines())) <= width
        assert all(f"acme-board-revision-{number:02}" in done.stdout for number in range(count))

    def test_many_results_are_listed_by_value(self, cli: Cli, place: Path) -> None:
        for number in range(200):
            write_sheet(place / "many" / f"board-{number:03}.json", cpu__available_cores=number % 50 + 1)
        done = cli("matrix", "model.pte", "--facts", "many")
        assert re.search(rf"^{THREADS}\n  1   4 devices  board-000, board-050", done.stdout, re.MULTILINE)

    def test_long_values_are_wrapped_and_stay_different(
        self, cli: Cli, sheets: Path, installed: Callable[..., None]
    ) -> None:
        installed("acme-dsp")
        values = {name: "x" * 500 + name.ljust(8, "-") for name in ("android", "linux")}
        (sheets.parent / "etconfig.toml").write_text(
            "".join(
                f"[[when]]\nif = 'os.name == \"{name}\"'\n"
                f'[when.options.AcmeDspBackend]\nlibrary = "{value}"\n'
                for name, value in values.items()
            )
        )
        done = cli("matrix", "--facts", "sheets")
        assert done.status == 0
        cells = [line[40:].split() for line in done.stdout.splitlines() if "xxx" in line or "(value" in line]
        assert max(len(cell) for row in cells for cell in row) <= 24
        assert "(value 1)" in done.stdout
        assert "(value 2)" in done.stdout

    def test_a_missing_file_of_expected_options_is_to_be_written_first(self, cli: Cli, sheets: Path) -> None:
        done = cli("matrix", "--facts", "sheets", "--expect", "golden.toml")
        message = "there is no golden.toml to compare with; write it first: --write-expect golden.toml"
        assert done == Outcome(2, "", f"error: {message}\n")

    def test_a_single_device_has_no_differences(self, cli: Cli, sheets: Path) -> None:
        done = cli("matrix", "model.pte", "--facts", "sheets/pixel-8.json")
        assert "The device gets 11 options; --all lists them" in done.stdout
        done = cli("matrix", "model.pte", "--facts", "sheets/pixel-8.json", "--all")
        assert re.search(rf"^OPTION +pixel-8\n(.+\n)+{THREADS} +9\n", done.stdout, re.MULTILINE)

    def test_devices_that_get_the_same_have_one_column_of_values(self, cli: Cli, sheets: Path) -> None:
        shutil.copy(sheets / "pixel-8.json", sheets / "twin.json")
        done = cli("matrix", "model.pte", "--facts", "sheets/[pt]*.json", "--all", "--set", f"{THREADS}=2")
        assert re.search(rf"^OPTION +VALUE\n(.+\n)+{THREADS} +2\n", done.stdout, re.MULTILINE)


class TestSheets:
    """Patterns are expanded, and every sheet is a device with a name of its own."""

    def names(self, done: Outcome) -> list[str]:
        return [device["device"] for device in done.json["devices"]]

    def test_patterns_are_sorted_and_the_order_of_options_is_kept(self, cli: Cli, sheets: Path) -> None:
        done = cli("matrix", "--facts", "sheets/r*.json", "--facts", "sheets/[lp]*.json", "--json")
        assert self.names(done) == ["raspberry-pi-5", "laptop-on-battery", "pixel-8"]

    def test_a_sheet_that_is_given_twice_is_one_device(self, cli: Cli, sheets: Path) -> None:
        twice = ("--facts", "sheets/../sheets/pixel-8.json", "--facts", str(sheets / "pixel-8.json"))
        done = cli("matrix", "--facts", "sheets/p*.json", *twice, "--json")
        assert self.names(done) == ["pixel-8"]

    def test_sheets_of_one_name_are_called_by_their_directories_too(self, cli: Cli, sheets: Path) -> None:
        for maker in ("google", "spare"):
            (sheets / maker).mkdir()
            shutil.copy(sheets / "pixel-8.json", sheets / maker)
        (sheets / "pixel-8.json").unlink()
        done = cli("matrix", "--facts", "sheets", "--json")
        assert sorted(self.names(done)) == [
            "google/pixel-8",
            "laptop-on-battery",
            "raspberry-pi-5",
            "spare/pixel-8",
        ]

    def test_standard_input_is_a_device(self, sheets: Path, shell: Callable[..., Outcome]) -> None:
        done = shell("etconfig matrix --facts - --json < sheets/pixel-8.json")
        assert self.names(done) == ["stdin"]

    @pytest.mark.parametrize("text", ["nothing*.json", "nothing.json", "empty"])
    def test_what_stands_for_no_sheet_is_wrong_usage(self, cli: Cli, sheets: Path, text: str) -> None:
        (sheets.parent / "empty").mkdir()
        done = cli("matrix", "--facts", "sheets", "--facts", text)
        assert (done.status, done.stdout) == (2, "")
        assert repr(text) in done.stderr

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
    def test_only_files_of_a_directory_are_sheets(self, cli: Cli, sheets: Path) -> None:
        os.mkfifo(sheets / "pipe.json")
        (sheets / "device.json").symlink_to("/dev/zero")
        (sheets / "broken.json").symlink_to("nowhere")
        done = cli("matrix", "--facts", "sheets", "--json")
        assert self.names(done) == ["broken", "laptop-on-battery", "pixel-8", "raspberry-pi-5"]
        assert done.status == 1

    @pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
    def test_a_pipe_that_is_named_is_read(self, sheets: Path, shell: Callable[..., Outcome]) -> None:
        done = shell("bash -c 'etconfig matrix --facts <(cat sheets/pixel-8.json) --json'")
        assert done.json["devices"][0]["profile"] == "google/tensor-g3"

    def test_the_name_of_a_known_device_is_not_a_sheet(self, cli: Cli) -> None:
        done = cli("matrix", "--facts", "pixel-8")
        assert done.status == 2
        assert "does not exist; the known device of this name is --device pixel-8\n" in done.stderr

    def test_without_sheets_it_is_wrong_usage(self, cli: Cli) -> None:
        done = cli("matrix", "model.pte")
        assert (done.status, done.stdout) == (2, "")
        assert "give the devices: --facts 'sheets/*.json', or --device pixel-8" in done.stderr

    def test_known_devices_are_called_by_their_names_in_the_order_given(self, cli: Cli, sheets: Path) -> None:
        before = ("--device", "pi-5", "--facts", "sheets/p*.json", "--device", "google/pixel-8")
        done = cli("matrix", *before, "--device", "raspberry-pi/pi-5", "--json")
        assert self.names(done) == ["raspberry-pi/pi-5", "pixel-8", "google/pixel-8"]

    def test_a_sheet_never_has_the_name_of_a_known_device(self, cli: Cli, sheets: Path) -> None:
        for maker in ("google", "spare"):
            (sheets / maker).mkdir()
            (sheets / "pixel-8.json").rename(sheets / maker / "pixel-8.json")
            shutil.copy(sheets / maker / "pixel-8.json", sheets)
        done = cli("matrix", "--facts", "sheets/*/*.json", "--device", "pixel-8", "--json")
        assert self.names(done) == ["sheets/google/pixel-8", "spare/pixel-8", "google/pixel-8"]


class TestProblems:
    """A device with an error is reported, and does not stop the others."""

    def test_a_broken_sheet_is_the_problem_of_its_device(self, cli: Cli, sheets: Path) -> None:
        (sheets / "broken.json").write_text("{")
        done = cli("matrix", "model.pte", "--facts", "sheets", "--json")
        assert done.status == 1
        broken, *others = done.json["devices"]
        assert (broken["device"], broken["profile"], broken["options"]) == ("broken", None, {})
        assert [problem["code"] for problem in broken["problems"]] == ["invalid-fact-sheet"]
        assert all(len(device["options"]) == 11 and not device["problems"] for device in others)
        text = cli("matrix", "model.pte", "--facts", "sheets")
        assert text.status == 1
        assert "broken             none                  error\n" in text.stdout
        assert "  = note: on broken\n" in text.stdout

    def test_options_that_do_not_resolve_are_the_problem_of_their_device(
        self, cli: Cli, sheets: Path
    ) -> None:
        (sheets.parent / "etconfig.toml").write_text(NEEDS_CORES)
        write_sheet(sheets / "unknown.json", os__name="linux", cpu__arch="arm64")
        done = cli("matrix", "model.pte", "--facts", "sheets", "--json")
        assert done.status == 1
        wrong = {device["device"] for device in done.json["devices"] if not device["options"]}
        assert "unknown" in wrong
        assert wrong < {device["device"] for device in done.json["devices"]}
        unknown = next(device for device in done.json["devices"] if device["device"] == "unknown")
        assert unknown["profile"] == "generic/linux-arm64"

    def test_one_problem_of_every_device_is_shown_once(self, cli: Cli, sheets: Path) -> None:
        done = cli("matrix", "model.pte", "--facts", "sheets", "--set", "ReferenceCpuBackend.num_thread=1")
        assert done.status == 1
        assert done.stdout.count("error[unknown-option]") == 1
        assert "  = note: on every device\n" in done.stdout

    def test_a_device_without_a_profile_says_why(self, cli: Cli, sheets: Path) -> None:
        write_sheet(sheets / "other.json", os__name="plan9")
        done = cli("matrix", "model.pte", "--facts", "sheets", "--require-match", "--json")
        assert done.status == 1
        other = next(device for device in done.json["devices"] if device["device"] == "other")
        assert [problem["code"] for problem in other["problems"]] == ["no-matching-profile"]
        fallback = cli("matrix", "model.pte", "--facts", "sheets", "--json")
        other = next(device for device in fallback.json["devices"] if device["device"] == "other")
        assert (fallback.status, other["profile"], other["is_fallback"]) == (0, "generic/any", True)

    def test_what_no_device_is_to_blame_for_fails_at_once(self, cli: Cli, sheets: Path) -> None:
        (sheets.parent / "etconfig.toml").write_text("[")
        done = cli("matrix", "model.pte", "--facts", "sheets")
        assert (done.status, done.stdout) == (2, "")

    @pytest.mark.parametrize("named", [(), ("--profile", "nothing")])
    def test_so_does_a_profile_that_is_named_and_not_there(
        self, cli: Cli, sheets: Path, named: tuple[str, ...]
    ) -> None:
        if not named:
            (sheets.parent / "etconfig.toml").write_text('profile = "nothing"\n')
        done = cli("matrix", "model.pte", "--facts", "sheets", *named)
        assert (done.status, done.stdout) == (2, "")
        assert "error[unknown-profile]" in done.stderr

    def test_a_program_that_cannot_be_read_fails_at_once(self, cli: Cli, sheets: Path) -> None:
        done = cli("matrix", "nothing.pte", "--facts", "sheets")
        assert (done.status, done.stdout) == (2, "")


class TestModels:
    """The variant of each model is a row among the options; a warning says why there is none."""

    @pytest.fixture
    def catalog(self, sheets: Path) -> Path:
        shutil.copy(DATA / "digits/digits_portable.pte", sheets.parent / "phone.pte")
        (sheets.parent / "board.tiny").write_bytes(b"tiny")
        (sheets.parent / "etconfig.toml").write_text(
            "[facts]\n'runtime.backends' = ['TinyEngine']\n[[model.'a.b'.variants]]\nfile = 'phone.pte'\n"
            "when = 'os.name == \"android\"'\n[[model.'a.b'.variants]]\nfile = 'board.tiny'\n"
            "backend = 'TinyEngine'\nwhen = 'device.model.startsWith(\"Raspberry\")'\n"
        )
        return sheets.parent

    EXPECTED = ("none", "'phone.pte'", "'board.tiny with TinyEngine'")

    @pytest.mark.parametrize("form", ["text", "markdown", "html"])
    def test_it_is_a_row_in_every_form(self, cli: Cli, catalog: Path, form: str) -> None:
        done = cli("matrix", "model.pte", "--facts", "sheets/*.json", "--format", form)
        assert done.status == 0, done.stderr
        row = next(line for line in done.stdout.splitlines() if "model.a.b" in line and "none" in line)
        assert "phone.pte" in row
        assert "board.tiny" in row
        assert "no variant of model" in done.stdout
        assert "os.name is" in done.stdout or form == "markdown"

    def test_it_is_data_and_in_python(self, cli: Cli, catalog: Path) -> None:
        done = json.loads(cli("matrix", "model.pte", "--facts", "sheets/*.json", "--json").stdout)
        files = [None, "phone.pte", "board.tiny with TinyEngine"]
        assert [each["options"]["model.a.b"] for each in done["devices"]] == files
        (problem,) = (p for p in done["devices"][0]["problems"] if p["code"] == "no-model-variant")
        assert problem["severity"] == "warning"
        assert problem["notes"][0].startswith("phone.pte: os.name")
        program = etconfig.load_program("model.pte")
        matrix = etconfig.resolve_devices(program, devices=sorted(Path("sheets").glob("*.json")))
        assert matrix.values("model.a.b") == self.EXPECTED

    def test_it_is_compared(self, cli: Cli, catalog: Path) -> None:
        given = ("matrix", "model.pte", "--facts", "sheets/*.json")
        assert cli(*given, "--write-expect", "expected.toml").status == 0
        assert '"model.a.b" = "phone.pte"\n' in Path("expected.toml").read_text()
        assert cli(*given, "--expect", "expected.toml").status == 0
        text = Path("etconfig.toml").read_text()
        Path("etconfig.toml").write_text(text.replace("android", "windows"))
        done = cli(*given, "--expect", "expected.toml")
        assert done.status == 1
        assert "pixel-8  model.a.b  'phone.pte'  none\n" in done.stdout

    def test_a_file_of_models_takes_the_place(self, cli: Cli, catalog: Path) -> None:
        Path("m.toml").write_text("[model.c]\nbackends = ['ReferenceCpuBackend']\nfile = 'board.tiny'\n")
        done = cli("matrix", "--models", "m.toml", "--facts", "sheets/pixel-8.json", "--all")
        assert "model.c " in done.stdout
        assert "a.b" not in done.stdout

    def test_a_file_that_is_gone_is_a_warning(self, cli: Cli, catalog: Path) -> None:
        Path("phone.pte").unlink()
        done = cli("matrix", "model.pte", "--facts", "sheets/pixel-8.json", "--json")
        (device,) = json.loads(done.stdout)["devices"]
        assert (done.status, device["options"]["model.a.b"]) == (0, None)
        (problem,) = (each for each in device["problems"] if each["code"] == "unreadable-file")
        assert problem["message"].startswith("model 'a.b' has no variant: ")
        assert "No such file" in problem["message"]


class TestExpected:
    """A repository keeps a reviewed file of what each device gets; any difference fails."""

    @pytest.fixture
    def golden(self, cli: Cli, sheets: Path) -> Path:
        done = cli("matrix", "model.pte", "--facts", "sheets", "--write-expect", "golden.toml")
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout == "33 options of 3 devices written to golden.toml\n"
        return sheets.parent / "golden.toml"

    def compare(self, cli: Cli, *arguments: str) -> Outcome:
        return cli("matrix", "model.pte", "--facts", "sheets", "--expect", "golden.toml", *arguments)

    def test_it_has_a_line_for_each_device_and_option(self, golden: Path) -> None:
        data = tomli.loads(golden.read_text())
        assert data["etconfig_matrix"] == 1
        assert [*data["devices"]] == ["laptop-on-battery", "pixel-8", "raspberry-pi-5"]
        phone = data["devices"]["pixel-8"]
        assert (phone["profile"], phone[THREADS], len(phone)) == ("google/tensor-g3", 9, 12)
        assert golden.read_text().count(f'\n"{THREADS}" = ') == 3

    def test_equal_matrices_give_equal_files(self, cli: Cli, golden: Path) -> None:
        before = golden.read_bytes()
        reordered = ("--facts", "sheets/r*.json", "--facts", "sheets")
        assert cli("matrix", "model.pte", *reordered, "--write-expect", "golden.toml").status == 0
        assert golden.read_bytes() == before

    def test_what_is_as_expected_succeeds(self, cli: Cli, golden: Path) -> None:
        done = self.compare(cli)
        assert (done.status, done.stdout, done.stderr) == (0, "golden.toml: 3 devices as expected\n", "")

    def test_every_difference_is_a_row(self, cli: Cli, golden: Path, sheets: Path) -> None:
        (sheets / "pixel-8.json").rename(sheets / "pixel-9.json")
        golden.write_text(golden.read_text().replace('"generic/linux-x86_64"', '"generic/linux"'))
        done = self.compare(cli, "--set", f"{THREADS}=8")
        assert done.status == 1
        assert done.stdout == (
            "DEVICE             OPTION                                   EXPECTED       GOT\n"
            "laptop-on-battery  profile                                  generic/linux  "
            "generic/linux-x86_64\n"
            "pixel-9            device                                   (absent)       11 options\n"
            f"raspberry-pi-5     {THREADS}  4              8\n"
            "pixel-8            device                                   11 options     (absent)\n"
            "error[matrix-mismatch]: golden.toml: 4 differences\n"
            " --> golden.toml:1:1\n"
            "  = help: if they are intended, write the file again with "
            "`etconfig matrix --write-expect golden.toml`\n"
        )

    def test_options_may_be_new_or_gone(self, cli: Cli, golden: Path) -> None:
        lines = golden.read_text().splitlines(keepends=True)
        gone = lines.index(f'"{THREADS}" = 9\n')
        lines[gone] = '"forward:ReferenceCpuBackend.other" = 1979-05-27\n'
        golden.write_text("".join(lines))
        rows = [line.split() for line in self.compare(cli).stdout.splitlines()[1:3]]
        assert rows == [
            ["pixel-8", "forward:ReferenceCpuBackend.other", "'1979-05-27'", "(absent)"],
            ["pixel-8", THREADS, "(absent)", "9"],
        ]

    def test_none_true_and_one_differ(self, cli: Cli, golden: Path) -> None:
        before = golden.read_text()
        assert "{ unset = true }" in before or "= none" not in before
        golden.write_text(before.replace(f'"{THREADS}" = 9', f'"{THREADS}" = 9.0'))
        assert self.compare(cli).status == 1
        golden.write_text(before.replace(f'"{THREADS}" = 9', f'"{THREADS}" = {{ unset = true }}'))
        assert f"pixel-8  {THREADS}  none      9" in self.compare(cli).stdout

    def test_differences_are_data_too(self, cli: Cli, golden: Path) -> None:
        done = self.compare(cli, "--set", f"{THREADS}=8", "--json")
        assert done.status == 1
        assert done.json["differences"][0] == {
            "device": "pixel-8",
            "part": "option",
            "option": THREADS,
            "expected": "9",
            "got": "8",
        }
        assert self.compare(cli, "--json").json["differences"] == []

    def test_differences_are_annotations_at_their_lines(self, cli: Cli, golden: Path, sheets: Path) -> None:
        (sheets / "broken.json").write_text("{")
        done = self.compare(cli, "--set", f"{THREADS}=8", "--format", "github")
        line = golden.read_text().splitlines().index(f'"{THREADS}" = 9') + 1
        assert done.status == 1
        assert f"::error file=golden.toml,line={line},col=1," in done.stdout
        assert f",title=matrix-mismatch::pixel-8: {THREADS}: expected 9, got 8%0A" in done.stdout
        assert "title=invalid-fact-sheet::" in done.stdout
        assert all(each.startswith("::error ") for each in done.stdout.splitlines())

    def test_a_device_with_errors_is_no_difference_and_fails(
        self, cli: Cli, golden: Path, sheets: Path
    ) -> None:
        (sheets / "pixel-8.json").write_text("{")
        done = self.compare(cli)
        assert done.status == 1
        assert "error[invalid-fact-sheet]" in done.stdout
        assert done.stderr == "error: 1 of 3 devices has errors\n"
        assert self.compare(cli, "--json").json["differences"] == []

    def test_it_is_not_written_with_errors(self, cli: Cli, golden: Path, sheets: Path) -> None:
        before = golden.read_bytes()
        (sheets / "pixel-8.json").write_text("{")
        done = cli("matrix", "model.pte", "--facts", "sheets", "--write-expect", "golden.toml")
        assert done.status == 1
        assert done.stderr == "error: golden.toml is not written: 1 of 3 devices has errors\n"
        assert golden.read_bytes() == before

    @pytest.mark.parametrize("name", ["model.pte", "x.npy", "sheets/pixel-8.json", "board.toml", "."])
    def test_no_other_file_is_replaced(self, cli: Cli, sheets: Path, name: str) -> None:
        (sheets.parent / "board.toml").write_text('[profile]\nname = "board"\n')
        before = {path: path.read_bytes() for path in sheets.parent.rglob("*") if path.is_file()}
        done = cli("matrix", "model.pte", "--facts", "sheets", "--write-expect", name)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: cannot write {name}: ")
        assert {path: path.read_bytes() for path in sheets.parent.rglob("*") if path.is_file()} == before

    def test_it_can_be_written_to_standard_output(self, golden: Path, shell: Callable[..., Outcome]) -> None:
        done = shell("etconfig matrix model.pte --facts sheets --write-expect /dev/stdout")
        assert (done.status, done.stdout) == (0, golden.read_text())

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", "has no etconfig_matrix: it is not a file of expected options"),
            ("etconfig_matrix = 2", "has version 2, expected 1"),
            ("etconfig_matrix = true", "has version true, expected 1"),
            ("etconfig_matrix = 1\nx = 1", "has no table or key 'x'"),
            ("etconfig_matrix = 1\ndevices = 1", "'devices' is not a table"),
            ("etconfig_matrix = 1\n[devices]\na = 1", "the device 'a' is not a table"),
            ("etconfig_matrix = 1\n[devices.a]\n", "the device 'a' has no profile"),
            ("etconfig_matrix = 1\n[devices.a]\nprofile = 'a'\nb = 1", "'b' is not an option path"),
        ],
    )
    def test_another_file_is_refused(self, cli: Cli, sheets: Path, text: str, problem: str) -> None:
        (sheets.parent / "golden.toml").write_text(text)
        done = self.compare(cli)
        assert (done.status, done.stdout) == (2, "")
        assert f"error[invalid-matrix-file]: golden.toml: {problem}" in done.stderr

    def test_a_file_that_is_missing_or_not_toml_is_refused(self, cli: Cli, sheets: Path) -> None:
        assert self.compare(cli).status == 2
        (sheets.parent / "golden.toml").write_text("[")
        assert self.compare(cli).status == 2

    def test_too_many_devices_for_a_file_are_refused(self, cli: Cli, place: Path) -> None:
        for number in range(2500):
            write_sheet(place / "many" / f"{number}.json", cpu__available_cores=4)
        done = cli("matrix", "model.pte", "--facts", "many", "--write-expect", "golden.toml")
        assert done.status == 2
        assert "error[document-too-large]: the expected options of 2,500 devices need more" in done.stderr
        assert not (place / "golden.toml").exists()

    def test_wrong_usage(self, cli: Cli, golden: Path) -> None:
        assert self.compare(cli, "--write-expect", "golden.toml").status == 2
        assert self.compare(cli, "--json", "--format", "html").status == 2


class _Tags(HTMLParser):
    """Collects the tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


class TestMarkup:
    """Markdown and HTML contain names and values as they are, whatever they look like."""

    HOSTILE = (
        "<script>alert(1)<",
        "a|b",
        "`code`",
        "@team",
        "[x](javascript:alert(1))",
        "![x](http:x)",
        "**bold**",
        "a&amp;b",
        "\u202egnp",
        "line\nbreak",
        "::error::x",
    )

    @pytest.fixture
    def hostile(self, place: Path) -> Path:
        if sys.platform == "win32":
            pytest.skip("Windows refuses such names")
        for number, name in enumerate(self.HOSTILE):
            file = place / "hostile" / f"{name.replace('/', '')}.json"
            write_sheet(file, cpu__available_cores=number + 1)
        return place / "hostile"

    def rows(self, text: str) -> Iterator[list[str]]:
        for line in text.splitlines():
            if line.startswith("|"):
                yield line.strip("|").split("|")

    def test_markdown_has_tables_of_equal_rows_with_code_alone(self, cli: Cli, hostile: Path) -> None:
        done = cli("matrix", "model.pte", "--facts", "hostile", "--format", "markdown", "--all")
        assert (done.status, FORBIDDEN.search(done.stdout)) == (0, None)
        assert "**11 devices" in done.stdout
        devices = [row for row in self.rows(done.stdout.partition("Devices:")[2]) if len(row) == 3]
        assert len(devices) == 2 + 11
        code = re.compile(r"(`[^`|<>&\\]+`|<code>([^<>`|*@\[\]]|&#\d+;)+</code>)")
        for row in devices[2:]:
            assert all(code.fullmatch(cell.strip()) for cell in row), row
        results = [row for row in self.rows(done.stdout) if len(row) == 12]
        assert len(results) == 2 + 1

    def test_html_is_one_page_with_its_own_markup_alone(self, cli: Cli, hostile: Path) -> None:
        done = cli("matrix", "model.pte", "--facts", "hostile", "--format", "html", "--all")
        assert (done.status, FORBIDDEN.search(done.stdout)) == (0, None)
        found = _Tags()
        found.feed(done.stdout)
        assert found.tags <= {
            *("html", "head", "meta", "title", "style", "body", "main", "nav", "section", "script"),
            *(
                "h1",
                "h2",
                "h3",
                "h4",
                "p",
                "pre",
                "a",
                "br",
                "div",
                "table",
                "caption",
                "thead",
                "tbody",
                "tr",
                "th",
                "td",
            ),
            *("details", "summary"),
        }
        assert found.attributes <= {
            *("lang", "charset", "http-equiv", "content", "name", "class", "scope"),
            *("id", "href", "title", "role", "tabindex", "aria-label"),
        }
        assert "&lt;script&gt;alert(1)&lt;" in done.stdout

    def test_differences_and_problems_come_first(self, cli: Cli, sheets: Path) -> None:
        arguments = ("matrix", "model.pte", "--facts", "sheets")
        cli(*arguments, "--write-expect", "golden.toml")
        (sheets / "pixel-8.json").write_text("{")
        changed = (*arguments, "--expect", "golden.toml", "--set", f"{THREADS}=3")
        markdown = cli(*changed, "--format", "markdown")
        assert markdown.status == 1
        assert f"| `raspberry-pi-5` | `{THREADS}` | `4` | `3` |\n" in markdown.stdout
        positions = [markdown.stdout.index(text) for text in ("2 differences", "Problems:", "Devices<")]
        assert positions == sorted(positions)
        page = cli(*changed, "--format", "html")
        assert "<td>4</td><td>3</td>" in page.stdout

    def test_junit_has_a_case_for_each_device(self, cli: Cli, sheets: Path) -> None:
        arguments = ("matrix", "model.pte", "--facts", "sheets")
        cli(*arguments, "--write-expect", "golden.toml")
        (sheets / "broken.json").write_text("{")
        done = cli(*arguments, "--expect", "golden.toml", "--set", f"{THREADS}=3", "--format", "junit")
        suite = ElementTree.fromstring(done.stdout)[0]
        ends = {case.get("name"): [each.tag for each in case] for case in suite}
        assert ends == {
            "broken": ["error"],
            "laptop-on-battery": ["failure"],
            "pixel-8": ["failure"],
            "raspberry-pi-5": ["failure"],
        }
        counts = {name: suite.get(name) for name in ("tests", "errors", "failures")}
        assert counts == {"tests": "4", "errors": "1", "failures": "3"}

    @pytest.mark.parametrize("form", ["text", "json", "markdown", "html", "github"])
    def test_hostile_names_are_printed_safely_and_read_back(self, cli: Cli, place: Path, form: str) -> None:
        if sys.platform == "win32":
            pytest.skip("Windows refuses such names")
        for number, text in enumerate(hostile_texts(120)):
            name = without_surrogates(text).replace("/", "").replace("\0", "")[:60] or "x"
            write_sheet(place / "hostile" / f"{name}.json", cpu__available_cores=number + 1)
        golden = ("--write-expect", "golden.toml")
        assert cli("matrix", "model.pte", "--facts", "hostile", *golden).status == 0
        for changes in ((), ("--set", f"{THREADS}=300")):
            compared = ("--format", form, "--expect", "golden.toml", *changes)
            done = cli("matrix", "model.pte", "--facts", "hostile", *compared)
            assert done.status == (1 if changes else 0)
            assert not FORBIDDEN.search(done.stdout + done.stderr)

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
    def test_a_name_that_is_not_utf_8_can_be_expected(self, cli: Cli, sheets: Path) -> None:
        shutil.copy(sheets / "pixel-8.json", os.fsencode(sheets) + b"/\xff.json")
        arguments = ("matrix", "model.pte", "--facts", "sheets")
        assert cli(*arguments, "--write-expect", "golden.toml").status == 0
        assert cli(*arguments, "--expect", "golden.toml").status == 0


def test_several_programs_get_their_options_together(cli: Cli, sheets: Path) -> None:
    shutil.copy(DATA / "digits" / "digits.pte", "other.pte")
    one = cli("matrix", "model.pte", "--facts", "sheets", "--json")
    both = cli("matrix", "model.pte", "other.pte", "--facts", "sheets", "--json")
    assert both.json == one.json


def test_facts_set_by_hand_hold_on_every_device(cli: Cli, sheets: Path) -> None:
    done = cli("matrix", "model.pte", "--facts", "sheets", "--fact", "cpu.available_cores=3", "--json")
    assert {device["options"][THREADS] for device in done.json["devices"]} == {3}


def test_a_closed_pipe_ends_it_quietly(sheets: Path, shell: Callable[..., Outcome]) -> None:
    done = shell("etconfig matrix model.pte --facts sheets --json | true")
    assert (done.status, done.stderr) == (0, "")
