from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from etconfig.cli.startup.command_group import run
from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.system import System
from etconfig.facts.sheet import load_fact_sheet

SHEETS = Path(__file__).parents[2] / "data" / "sheets"
PI = str(SHEETS / "raspberry-pi-5.json")

Capture = pytest.CaptureFixture[str]


def sheet(tmp_path: Path, name: str, facts: str) -> str:
    path = tmp_path / name
    path.write_text(f'{{"etconfig_fact_sheet": 1, "facts": {{{facts}}}}}')
    return str(path)


class TestFacts:
    """`etconfig facts` shows a device, and saves it as a sheet."""

    def test_known_facts_are_a_table(self, capsys: Capture):
        assert run(["facts", "--facts", PI, "--fact", "power.source=battery"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == ["FACT", "VALUE", "FROM"]
        assert [line.split() for line in lines if line.startswith("power.source")] == [
            ["power.source", "battery", "--fact"]
        ]
        assert lines[-1].endswith("facts are unknown here; --all shows why.")

    def test_all_shows_reasons(self, capsys: Capture):
        assert run(["facts", "--facts", PI, "--all"]) == 0
        lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
        assert "os.api_level etconfig does not look for it on Linux" in lines

    def test_a_saved_sheet_reads_back(self, tmp_path: Path, capsys: Capture):
        path = tmp_path / "saved.json"
        assert run(["facts", "--facts", PI, "--save", str(path)]) == 0
        assert load_fact_sheet(path) == load_fact_sheet(Path(PI))
        count = len(load_fact_sheet(path).values)
        assert capsys.readouterr().out == f"{count} facts written to {path}\n"

    def test_json_is_a_sheet(self, capsys: Capture):
        assert run(["facts", "--facts", PI, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["etconfig_fact_sheet"] == 1

    def test_facts_of_an_attached_device_are_read_over_adb(
        self, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ):
        asked: list[str | None] = []

        def attached(serial: str | None = None) -> System:
            asked.append(serial)
            return System(Path("/nowhere"), Host(system="Android", machine="aarch64"))

        monkeypatch.setattr("etconfig.facts.detecting.adb.attached_device", attached)
        assert run(["facts", "--adb", "--json", "--fact", "gpu.count=1"]) == 0
        facts = json.loads(capsys.readouterr().out)["facts"]
        assert (facts["os.name"]["value"], facts["gpu.count"]["value"]) == ("android", 1)
        assert run(["facts", "--adb", "R5CT"]) == 0
        assert asked == [None, "R5CT"]

    def test_adb_and_a_sheet_at_once_are_refused(self, capsys: Capture):
        assert run(["facts", "--adb", "--facts", PI]) == 2
        assert "--adb and --facts name two devices; give one of them" in capsys.readouterr().err

    def test_options_before_a_subcommand_are_refused(self, capsys: Capture):
        assert run(["facts", "--json", "diff", PI, PI]) == 2
        assert "--json does not apply to `facts diff`" in capsys.readouterr().err


class TestDiff:
    """`etconfig facts diff` exits with 0 when sheets are the same, 1 when they differ, 2 on errors."""

    OLD = '"os.name": {"value": "linux"}, "gpu.count": {"value": 1}, "memory.available": {"value": 1048576}'
    NEW = '"os.name": {"value": "linux"}, "npu.count": {"value": 2}, "memory.available": {"value": 2097152}'

    def test_equal_sheets_have_no_differences(self, capsys: Capture):
        assert run(["facts", "diff", PI, PI]) == 0
        assert capsys.readouterr().out == "The facts are the same.\n"

    def test_differences_have_a_line_each(self, tmp_path: Path, capsys: Capture):
        old, new = sheet(tmp_path, "old.json", self.OLD), sheet(tmp_path, "new.json", self.NEW)
        assert run(["facts", "diff", old, new]) == 1
        assert (
            capsys.readouterr().out == "- gpu.count  1\n+ npu.count  2\n~ memory.available  1 MiB -> 2 MiB\n"
        )

    def test_live_facts_can_be_left_out(self, tmp_path: Path, capsys: Capture):
        old, new = sheet(tmp_path, "old.json", self.OLD), sheet(tmp_path, "new.json", self.NEW)
        assert run(["facts", "diff", old, new, "--ignore-live"]) == 1
        assert "memory.available" not in capsys.readouterr().out

    def test_json_has_values(self, tmp_path: Path, capsys: Capture):
        old, new = sheet(tmp_path, "old.json", self.OLD), sheet(tmp_path, "new.json", self.NEW)
        assert run(["facts", "diff", old, new, "--json"]) == 1
        assert json.loads(capsys.readouterr().out) == {
            "added": {"npu.count": 2},
            "removed": {"gpu.count": 1},
            "changed": {"memory.available": {"old": 1048576, "new": 2097152}},
        }

    def test_without_a_second_sheet_this_device_is_compared(self, tmp_path: Path, capsys: Capture):
        path = tmp_path / "here.json"
        assert run(["facts", "--save", str(path)]) == 0
        assert run(["facts", "diff", str(path), "--ignore-live"]) == 0
        assert capsys.readouterr().out.endswith("The facts are the same.\n")

    def test_a_sheet_that_cannot_be_read_is_an_error(self, capsys: Capture):
        assert run(["facts", "diff", PI, "/no/such/sheet.json"]) == 2
        message = "error[unreadable-file]: cannot read /no/such/sheet.json: No such file or directory"
        assert capsys.readouterr().err.startswith(message)


class TestSchema:
    """`etconfig facts schema` prints the JSON Schema of sheets."""

    def test_the_schema_accepts_a_sheet(self, capsys: Capture):
        assert run(["facts", "schema"]) == 0
        schema = json.loads(capsys.readouterr().out)
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema).validate(json.loads(Path(PI).read_text("utf-8")))
