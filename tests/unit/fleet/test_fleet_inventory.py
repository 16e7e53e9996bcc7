"""Inventories: formats, columns, and the validation of every value."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

from fleet_devices import random_devices, write_devices  # noqa: E402

import etconfig  # noqa: E402
from etconfig.errors import FactError  # noqa: E402
from etconfig.facts.builtin import BUILTIN_FACTS  # noqa: E402
from etconfig.facts.sheet import FactSheet  # noqa: E402
from etconfig.fleet import open_fleet  # noqa: E402
from etconfig.fleet.inventory import conversion, json_sql  # noqa: E402
from etconfig.fleet.inventory.column_validation import InventoryFinding, validate_part  # noqa: E402
from etconfig.fleet.inventory.columns import MAX_COLUMNS  # noqa: E402
from etconfig.fleet.inventory.conversion import converted  # noqa: E402
from etconfig.fleet.inventory.database import Database, followed, opened_database  # noqa: E402
from etconfig.fleet.inventory.inventory import InventoryOpener, find_sources  # noqa: E402
from etconfig.fleet.running.single_devices import device_sheets  # noqa: E402


@pytest.fixture
def database() -> Iterator[Database]:
    with opened_database("256MiB", 2) as found:
        yield found


def findings(database: Database, *paths: Path, **options: object) -> list[InventoryFinding]:
    opener = InventoryOpener(database, BUILTIN_FACTS, **options)  # type: ignore[arg-type]
    parts = list(opener.open_all(find_sources([str(path) for path in paths])))
    return [finding for part in parts for finding in validate_part(database, part)]


def sheets(database: Database, path: Path, table: str | None = None) -> dict[str, dict[str, object]]:
    opener = InventoryOpener(database, BUILTIN_FACTS)
    (part,) = opener.open_all(find_sources([str(path)], table))
    (names,) = database.rows(f"SELECT list({part.device}) FROM {part.source.relation}")[0]
    found = {name: dict(sheet.values) for name, sheet in device_sheets(database, part, names, BUILTIN_FACTS)}
    assert {name: values.pop("device.id") for name, values in found.items()} == {name: name for name in found}
    return found


class TestFormats:
    """The same devices are read from every format."""

    @pytest.fixture
    def devices(self) -> dict[str, dict[str, object]]:
        return {f"device-{n}": facts for n, facts in enumerate(random_devices(Random(1), 40))}

    def test_parquet(self, database: Database, tmp_path: Path, devices: dict[str, dict[str, object]]) -> None:
        path = write_devices(duckdb.connect(), tmp_path / "a.parquet", list(devices.values()))
        assert sheets(database, path) == devices

    def test_lines_of_plain_values(
        self, database: Database, tmp_path: Path, devices: dict[str, dict[str, object]]
    ) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text("".join(json.dumps({"device_id": n, **f}) + "\n" for n, f in devices.items()))
        assert sheets(database, path) == devices
        (stored,) = (tmp_path / ".etconfig-fleet").iterdir()
        before = stored.stat().st_mtime_ns
        assert sheets(database, path) == devices
        assert stored.stat().st_mtime_ns == before  # converted once

    def test_lines_of_fact_sheets(
        self, database: Database, tmp_path: Path, devices: dict[str, dict[str, object]]
    ) -> None:
        path = tmp_path / "a.jsonl"
        lines = []
        for name, facts in devices.items():
            sheet = json.loads(FactSheet.from_values(facts).to_json())  # type: ignore[arg-type]
            lines.append(json.dumps({"device_id": name, **sheet}) + "\n")
        path.write_text("".join(lines))
        assert sheets(database, path) == devices

    def test_a_directory_of_sheets(
        self, database: Database, tmp_path: Path, devices: dict[str, dict[str, object]]
    ) -> None:
        directory = tmp_path / "sheets"
        for name, facts in devices.items():
            path = directory / "acme" / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(FactSheet.from_values(facts).to_json())  # type: ignore[arg-type]
        assert sheets(database, directory) == {f"acme/{name}": facts for name, facts in devices.items()}

    def test_a_table_of_a_database(
        self, database: Database, tmp_path: Path, devices: dict[str, dict[str, object]]
    ) -> None:
        path = tmp_path / "a.duckdb"
        connection = duckdb.connect(str(path))
        write_devices(connection, tmp_path / "a.parquet", list(devices.values()))
        connection.close()
        assert sheets(database, path) == devices
        assert sheets(database, path, "fleet") == devices

    def test_a_view_of_a_database_is_not_read(self, database: Database, tmp_path: Path) -> None:
        """A view is a query, which could read any file, also one whose name only differs in case."""
        path, secret = tmp_path / "a.duckdb", tmp_path / "secret.txt"
        secret.write_text("secret")
        query = f"SELECT content AS device_id FROM read_text('{secret}')"
        connection = duckdb.connect(str(path))
        connection.execute(f"CREATE VIEW devices AS {query}; CREATE TABLE fleet AS SELECT 'a' AS device_id")
        connection.execute(f"CREATE SCHEMA other; CREATE VIEW other.fleet AS {query}")
        connection.close()
        assert sheets(database, path) == {"a": {}}
        for table in ("devices", "Devices", "other.fleet", "fleets"):
            with pytest.raises(FactError, match=f"{table} is not a table of it; its tables: fleet"):
                sheets(database, path, table)

    def test_every_shipped_sheet_is_right(self, database: Database) -> None:
        directory = Path(etconfig.__file__).parents[1] / "sheets"
        assert (
            findings(
                database,
                directory,
                cache=Path(database.rows("SELECT current_setting('temp_directory')")[0][0]),
            )
            == []
        )

    def test_what_is_no_inventory_is_refused(self, database: Database, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("device_id\n1\n")
        with pytest.raises(FactError, match=r"it is not an inventory: \.csv"):
            find_sources([str(tmp_path / "a.csv")])
        with pytest.raises(FactError, match="there is no such file"):
            find_sources([str(tmp_path / "*.parquet")])
        (tmp_path / "a.parquet").write_bytes(b"nothing")
        with pytest.raises(FactError, match=r"cannot read .*a\.parquet"):
            findings(database, tmp_path / "a.parquet")


class TestColumns:
    """The names and types of columns are checked before any value."""

    def check(self, database: Database, tmp_path: Path, select: str, **options: object) -> str:
        path = tmp_path / "a.parquet"
        duckdb.connect().execute(f"COPY (SELECT {select}) TO '{path}'")
        with pytest.raises(FactError) as caught:
            findings(database, path, **options)
        return "\n".join(f"{each.code}: {each.message}; {each.help}" for each in caught.value.diagnostics)

    def test_an_unknown_name_gets_a_suggestion(self, database: Database, tmp_path: Path) -> None:
        text = self.check(database, tmp_path, "'a' AS device_id, 4 AS \"cpu.availble_cores\"")
        assert (
            "unknown-fact: no fact is called 'cpu.availble_cores'; did you mean 'cpu.available_cores'?"
            in text
        )
        assert "--ignore cpu.availble_cores" in text

    def test_a_column_that_is_ignored_is_left_out(self, database: Database, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        duckdb.connect().execute(f"COPY (SELECT 'a' AS device_id, 'eu' AS region) TO '{path}'")
        assert findings(database, path, ignored=["region"]) == []

    def test_a_column_of_a_wrong_type_is_refused(self, database: Database, tmp_path: Path) -> None:
        text = self.check(database, tmp_path, "'a' AS device_id, 4.0::DOUBLE AS cpu__available_cores")
        assert "column 'cpu__available_cores' has the type DOUBLE, expected BIGINT" in text
        assert "convert_dtypes" in text

    def test_a_column_without_values_may_have_any_type(self, database: Database, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        duckdb.connect().execute(f"COPY (SELECT 'a' AS device_id, NULL::INT AS cpu__arch) TO '{path}'")
        assert findings(database, path) == []

    def test_two_columns_of_one_fact_are_refused(self, database: Database, tmp_path: Path) -> None:
        text = self.check(database, tmp_path, "'a' AS device_id, 'arm' AS cpu__arch, 'arm' AS \"cpu.arch\"")
        assert "columns 'cpu__arch' and 'cpu.arch' both name the fact 'cpu.arch'" in text

    def test_a_missing_name_of_devices_is_refused(self, database: Database, tmp_path: Path) -> None:
        text = self.check(database, tmp_path, "'a' AS serial")
        assert (
            "has no column 'device_id', which names the devices; name the column that does with --id" in text
        )
        assert "no fact is called" not in text

    @pytest.mark.parametrize("column", ["device_id", "device.id", "serial"])
    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            ("['a']", "VARCHAR[]"),
            ("{'a': 1}", "STRUCT(a INTEGER)"),
            ("'a'::BLOB", "BLOB"),
            ("MAP {'a': 1}", "MAP(VARCHAR, INTEGER)"),
            ("DATE '2026-01-01'", "DATE"),
        ],
    )
    def test_names_of_devices_are_plain_values(
        self, database: Database, tmp_path: Path, column: str, value: str, kind: str
    ) -> None:
        given = {"id_column": "serial"} if column == "serial" else {}
        text = self.check(database, tmp_path, f'{value} AS "{column}"', **given)
        assert text == (
            f"invalid-fact-sheet: column {column!r}, which names the devices, has the type {kind}, expected "
            "a text, a number or a truth value; write the column as VARCHAR, or name another one with --id"
        )

    @pytest.mark.parametrize("value", ["7", "7.5", "true", "uuid()", "'a'::ENUM('a')", "7::DECIMAL(9, 0)"])
    def test_names_of_devices_may_be_of_any_plain_type(
        self, database: Database, tmp_path: Path, value: str
    ) -> None:
        path = tmp_path / "a.parquet"
        duckdb.connect().execute(f"COPY (SELECT {value} AS device_id, 'linux' AS \"os.name\") TO '{path}'")
        assert findings(database, path) == []

    def test_a_column_of_names_without_values_may_have_any_type(
        self, database: Database, tmp_path: Path
    ) -> None:
        path = tmp_path / "a.parquet"
        duckdb.connect().execute(
            f"COPY (SELECT NULL::INT[] AS \"device.id\", 'linux' AS os__name) TO '{path}'"
        )
        assert [each.problem for each in findings(database, path)] == ["the device has no name"]

    @pytest.mark.posix
    @pytest.mark.parametrize(
        "name", ["a b", "$(touch x)", "it's", 'a"b', "a\nb", "\\'\t\U000e0001", "a*", "-x"]
    )
    def test_hints_can_be_pasted_into_a_shell(self, database: Database, tmp_path: Path, name: str) -> None:
        quoted = name.replace('"', '""')
        text = self.check(database, tmp_path, f"'a' AS device_id, 1 AS \"{quoted}\"")
        pasted = text.rpartition("--ignore ")[2]
        assert pasted.isprintable()
        words = subprocess.run(
            ["bash", "-c", f"printf '<%s>' {pasted}"],
            capture_output=True,
            check=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        assert words.stdout.decode() == f"<{name}>"


class TestColumnCount:
    """An inventory of very many columns or keys is refused before any of them is looked at."""

    def refused(self, database: Database, path: Path) -> str:
        with pytest.raises(FactError) as caught:
            findings(database, path)
        (problem,) = caught.value.diagnostics
        return f"{problem.message}; {problem.help}"

    def test_columns(self, database: Database, tmp_path: Path) -> None:
        columns = ", ".join(f"{number} AS x{number}" for number in range(MAX_COLUMNS))
        path = tmp_path / "a.parquet"
        duckdb.connect().execute(f"COPY (SELECT 'a' AS device_id, {columns}) TO '{path}'")
        assert self.refused(database, path) == (
            f"cannot read {path}: it has 2,001 columns, expected at most 2,000; "
            "write the facts that profiles read, and the name of the device"
        )

    def test_keys(self, database: Database, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        keys = [{f"x{n}_{at}": 1 for at in range(10)} for n in range(MAX_COLUMNS // 10)]
        lines = [json.dumps({"device_id": str(number), **facts}) for number, facts in enumerate(keys)]
        path.write_text("\n".join(lines))
        assert self.refused(database, path) == (
            f"cannot read {path}: it has 2,001 different keys in its lines, expected at most 2,000; "
            "write the facts that profiles read, and the name of the device"
        )
        assert list((tmp_path / ".etconfig-fleet").iterdir()) == []


def test_a_directory_for_converted_files_that_cannot_be_written_is_named(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"device_id": "a"}\n')
    (tmp_path / ".etconfig-fleet").write_text("a file")
    with pytest.raises(FactError) as caught:
        findings(database, path)
    (problem,) = caught.value.diagnostics
    assert problem.message == (
        f"cannot read {path}: it is converted to Parquet in {tmp_path}/.etconfig-fleet, which cannot be "
        "written: File exists"
    )
    assert problem.help == "give another directory with --cache"
    assert findings(database, path, cache=tmp_path / "cache") == []


def test_a_sheet_that_cannot_be_read_is_named(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fleet").mkdir()
    for name in ("a", "b"):
        (tmp_path / "fleet" / f"{name}.json").write_text('{"facts": {}}')
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "b.json":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(FactError) as caught:
        findings(database, tmp_path / "fleet")
    sheet = tmp_path / "fleet" / "b.json"
    assert caught.value.diagnostics[0].message == f"cannot read {sheet.parent}: {sheet}: Permission denied"


def test_values_are_counted_by_cause_with_their_first_rows(database: Database, tmp_path: Path) -> None:
    """Three hundred mistakes of ten kinds among a thousand devices."""
    devices = [{"cpu.arch": "arm64", "power.battery_level": 0.5} for _ in range(1000)]
    mistakes: list[tuple[str, object]] = [
        ("cpu.arch", "aarch64"),
        ("cpu.available_cores", 0),
        ("power.battery_level", 87.0),
        ("power.battery_level", -0.5),
        ("power.battery_level", float("nan")),
        ("thermal.max_celsius", float("inf")),
        ("power.source", "batery"),
        ("device.model", "pixel\n8"),
        ("memory.total", -1),
        ("thermal.state", "hot"),
    ]
    for number in range(300):
        name, value = mistakes[number % 10]
        devices[3 * number][name] = value  # type: ignore[assignment]
    path = write_devices(duckdb.connect(), tmp_path / "a.parquet", devices)  # type: ignore[arg-type]
    found = findings(database, path)
    assert {finding.devices for finding in found} == {30}
    by_fact = {(finding.fact, finding.problem): finding for finding in found}
    assert sorted(by_fact) == [
        ("cpu.arch", "it is called 'arm64' here, found 'aarch64'"),
        ("cpu.available_cores", "expected at least 1, in cores"),
        ("device.model", "expected a string of printable characters, found 'pixel\\n8'"),
        ("memory.total", "expected at least 0, in bytes"),
        ("power.battery_level", "expected a finite number, in fraction"),
        ("power.battery_level", "expected at least 0, in fraction"),
        ("power.battery_level", "expected at most 1, in fraction"),
        ("power.source", "expected 'mains' or 'battery', found 'batery'"),
        ("thermal.max_celsius", "expected a finite number, in celsius"),
        ("thermal.state", "expected 'nominal' or 'fair' or 'serious' or 'critical', found 'hot'"),
    ]
    arch = by_fact["cpu.arch", "it is called 'arm64' here, found 'aarch64'"]
    assert (arch.rows, arch.values, arch.help) == ((1, 31, 61), ("aarch64",) * 3, "did you mean 'arm64'?")


def test_an_empty_or_blank_name_is_no_name(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    names = ["", " ", "\t\n", "a", "", " b"]
    path.write_text("".join(json.dumps({"device_id": name, "os.name": "linux"}) + "\n" for name in names))
    found = [(finding.problem, finding.devices, finding.rows) for finding in findings(database, path)]
    assert ("the device has no name", 4, (1, 2, 3)) in found
    assert all("same name" not in problem for problem, _, _ in found)


def test_mistakes_in_json_are_counted_by_cause_with_their_lines(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"device_id": "a", "cpu.available_cores": 4, "cpu.features": ["x"]}\n'
        '{"device_id": "b", "etconfig_fact_sheet": 1, "facts": {"cpu.available_cores": {"value": "4"}, '
        '"memory.total": {"value": 4, "unit": "MiB"}, "cpu.arch": {"unknown": "no"}}}\n'
        "broken\n"
        '{"device_id": "a", "cpu.features": [1], "cpu.corez": 1, "power.battery_level": 87}\n'
    )
    listed = findings(database, path)
    found = {(finding.fact, finding.problem): finding.rows for finding in listed}
    assert {finding.fact: finding.values for finding in listed if finding.fact and finding.values} == {
        "cpu.available_cores": ('"4"',),
        "memory.total": ("MiB",),
        "cpu.features": ("[1]",),
        "power.battery_level": ("87.0",),
    }
    assert found == {
        ("cpu.available_cores", "expected an int of at most 64 bits"): (2,),
        ("memory.total", "its unit is bytes"): (2,),
        ("", "the line is not a JSON object"): (3,),
        ("cpu.features", "expected a list of strings"): (4,),
        ("", "no fact is called 'cpu.corez'"): (4,),
        ("device_id", "another row has the same name"): (4,),
        ("power.battery_level", "expected at most 1, in fraction"): (4,),
    }


def test_a_repeated_key_is_an_error_with_its_line_and_neither_value_counts(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"device_id": "a", "cpu.arch": "arm64", "os.name": "linux"}\n'
        '{"device_id": "b", "cpu.arch": "arm64", "os.name": "linux", "cpu.arch": "x86_64"}\n'
        '{"device_id": "c", "device_id": "d", "os.name": "linux"}\n'
        '{"device_id": "e", "facts": {"os.name": {"value": "linux", "value": "macos"}, '
        '"gpu.count": {"value": 1}}}\n'
        '{"device_id": "f", "facts": {"os.name": "linux"}, "facts": {}}\n'
        '{"device_id": "g", "facts": {"os.name": "linux", "gpu.count": 1, "gpu.count": 1}}\n'
        '{"device_id": "h", "cpu__arch": "arm64", "cpu__arch": "arm64"}\n'
        '{"device_id": "i", "cpu__arch": "arm64", "cpu.arch": "arm64"}\n'
        '{"device_id": "j", "cpu__arch": "arm64"}\n'
    )
    found = {(finding.fact, finding.problem, finding.rows) for finding in findings(database, path)}
    assert found == {
        ("cpu.arch", "its key is repeated", (2, 7, 8)),
        ("device_id", "its key is repeated", (3,)),
        ("os.name", "a key in its object is repeated", (4,)),
        ("facts", "its key is repeated", (5,)),
        ("gpu.count", "its key is repeated", (6,)),
    }
    known = sheets(database, path)
    assert [sorted(known[name]) for name in "abeg"] == [
        ["cpu.arch", "os.name"],
        ["os.name"],
        ["gpu.count", "os.name"],
        ["os.name"],
    ]


class TestBrokenSheets:
    """A sheet that the reader of a single one refuses is a finding, and no fact is lost silently."""

    CASES = (
        ('"facts": {"gpu.count": {"valu": 4}}', "gpu.count", "unknown key in its object", ("valu",)),
        (
            '"facts": {"gpu.count": {"value": 4, "units": "GB"}}',
            "gpu.count",
            "unknown key in its object",
            ("value, units",),
        ),
        (
            '"facts": {"gpu.count": {"value": 4, "unknown": "no"}}',
            "gpu.count",
            "expected either 'value' or 'unknown' in its object",
            (),
        ),
        (
            '"facts": {"gpu.count": {"origin": "x"}}',
            "gpu.count",
            "expected either 'value' or 'unknown' in its object",
            (),
        ),
        ('"etconfig_fact_sheet": 99, "facts": {}', "", "the version of the sheet is not 1", ("99",)),
        ('"etconfig_fact_sheet": "1", "facts": {}', "", "the version of the sheet is not 1", ('"1"',)),
        ('"facts": [1]', "", "expected an object under the key 'facts'", ("[1]",)),
        ('"facts": null', "", "expected an object under the key 'facts'", ("null",)),
        ('"facts": {"facts": {"gpu.count": 1}}', "", "a whole sheet is under the key 'facts'", ()),
        ('"facts": {}, "os__name": "linux"', "", "the fact 'os.name' is beside the key 'facts'", ()),
        ('"facts": {}, "region": "x"', "", "unknown key 'region' beside the key 'facts'", ()),
    )
    RIGHT = '"etconfig_fact_sheet": 1, "facts": {"gpu.count": {"value": 1, "origin": "x"}}'

    @pytest.mark.parametrize(("text", "fact", "problem", "values"), CASES)
    @pytest.mark.parametrize("is_directory", [True, False])
    def test_it_is_a_finding_with_its_row(
        self,
        database: Database,
        tmp_path: Path,
        text: str,
        fact: str,
        problem: str,
        values: tuple[str, ...],
        is_directory: bool,
    ) -> None:
        path = tmp_path / ("sheets" if is_directory else "a.jsonl")
        objects = [f'{{"device_id": "{n}", {each}}}\n' for n, each in enumerate((self.RIGHT, text))]
        if is_directory:
            path.mkdir()
            for number, each in enumerate(objects):
                (path / f"{number}.json").write_text(each)
        else:
            path.write_text("".join(objects))
        (found,) = findings(database, path)
        assert (found.fact, found.problem, found.rows, found.values) == (fact, problem, (2,), values)

    def test_values_alone_are_right_below_facts(self, database: Database, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text(
            f'{{"device_id": "a", {self.RIGHT}}}\n'
            '{"device_id": "b", "facts": {"gpu.count": 2, "os.name": {"unknown": "no"}}}\n'
            '{"device_id": "c", "facts": {"gpu.count": {"value": null}, "os.name": null}}\n'
        )
        assert findings(database, path) == []
        assert sheets(database, path) == {"a": {"gpu.count": 1}, "b": {"gpu.count": 2}, "c": {}}

    def test_a_key_that_is_ignored_may_be_beside_facts(self, database: Database, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text(f'{{"device_id": "a", "region": "x", {self.RIGHT}}}\n')
        assert findings(database, path, ignored=["region"]) == []

    def test_such_a_device_gets_nothing(self, database: Database, tmp_path: Path) -> None:
        """A whole sheet that is wrong counts for every profile, like an unknown fact."""
        path = tmp_path / "a.jsonl"
        path.write_text('{"device_id": "a", "facts": {}, "os.name": "linux"}\n')
        fleet = open_fleet(path)
        assert (fleet.resolve().resolved, fleet.resolve().devices) == (0, 1)


def test_whatever_a_column_has_that_is_ignored_is_left_out(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"device_id": "a", "region": "x", "region": "y", "os.name": "linux"}\n'
        '{"device_id": "b", "facts": {"region": 1, "region": {}, "os.name": "linux", "os.name": "linux"}}\n'
        '{"device_id": "c", "region": 1, "facts": {"os.name": "linux"}, "region": 2}\n'
    )
    (finding,) = findings(database, path, ignored=["region"])
    assert (finding.fact, finding.problem, finding.rows) == ("os.name", "its key is repeated", (2,))
    found = {(each.fact, each.problem, each.rows) for each in findings(database, path)}
    assert ("region", "its key is repeated", (1, 2, 3)) in found


def test_a_mark_at_the_start_is_skipped(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"device_id": "a", "gpu.count": 1}\n{"device_id": "b", "gpu.count": 2}\n')
    assert sheets(database, path) == {"a": {"gpu.count": 1}, "b": {"gpu.count": 2}}


def test_a_conversion_that_is_interrupted_leaves_nothing_behind(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, cache = tmp_path / "a.jsonl", tmp_path / "cache"
    path.write_text('{"device_id": "a", "os.name": "linux"}\n{"device_id": "b", "os.name": 3}\n' * 9)

    def interrupted(database: Database, lines: Path, target: Path, *_: object) -> None:
        target.write_text("some")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(conversion, "convert_lines", interrupted)
        with pytest.raises(KeyboardInterrupt):
            converted(database, path, "", BUILTIN_FACTS, cache=cache)
    assert [*cache.iterdir()] == []
    assert converted(database, path, "", BUILTIN_FACTS, cache=cache).exists()


def test_memory_does_not_grow_with_the_facts_of_whole_sheets(tmp_path: Path) -> None:
    """Whole sheets of this machine, also with mistakes in each, within half of the default memory."""
    sheet = json.loads(etconfig.detect_facts().to_json())
    wrong = {**sheet["facts"], "cpu.arch": {"value": 3}, "cpu.corez": {"value": 1}}
    for number, facts in enumerate((sheet["facts"], wrong)):
        path = tmp_path / f"{number}.jsonl"
        lines = (json.dumps({"device_id": f"{n}", **sheet, "facts": facts}) + "\n" for n in range(600))
        path.write_text("".join(lines))
        with opened_database("512MiB", 1) as database:
            found = {(each.fact, each.devices) for each in findings(database, path)}
        assert found == ({("cpu.arch", 600), ("", 600)} if number else set())


def test_keys_that_only_later_lines_have_are_found(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of facts, of other keys, of sheets among other lines, and the other way around."""
    monkeypatch.setattr(json_sql, "_SAMPLED_LINES", 2)
    plain = '{{"device_id": "{}", "cpu.arch": "arm64"{}}}\n'
    sheet = '{{"device_id": "{}", "facts": {{"cpu.arch": {{"value": "arm64"}}{}}}}}\n'
    path = tmp_path / "a.jsonl"
    wrong = []
    for first, later in ((plain, plain), (sheet, sheet), (plain, sheet), (sheet, plain)):
        for further in ("", ', "gpu.count": 1', ', "gpu.count": "x"', ', "gpu.countt": 1'):
            path.write_text(first.format(0, "") + first.format(1, "") + later.format(2, further))
            values: dict[str, object] = {"cpu.arch": "arm64"} | ({"gpu.count": 1} if "1" in further else {})
            is_right = "x" not in further and "tt" not in further
            listed = [each.rows for each in findings(database, path)]
            if "tt" not in further and is_right and sheets(database, path)["2"] != values:
                wrong.append((first, later, further, "values"))
            if listed != ([] if is_right else [(3,)]):
                wrong.append((first, later, further, str(listed)))
    assert wrong == []


def test_findings_in_a_directory_name_the_sheets(database: Database, tmp_path: Path) -> None:
    directory = tmp_path / "sheets"
    (directory / "lab").mkdir(parents=True)
    (directory / "a.json").write_text('{"etconfig_fact_sheet": 1,\n "facts": {"gpu.count": {"value": "1"}}}')
    (directory / "lab" / "b.json").write_text("[]")
    (directory / "lab" / "c.json").write_text(
        '{"facts": {"gpu.count": {"value": "x"}, "gpu.count": {"value": 1}}}'
    )
    (directory / "lab" / "d.json").write_text('{"device_id": "d", "facts": {"gpu.count": {"value": 1}}}')
    (directory / "lab" / "e.json").write_text("{}")
    (directory / "lab" / "f.json").write_text("broken")
    found = {
        (finding.fact, finding.problem, finding.sheets, finding.values)
        for finding in findings(database, directory)
    }
    assert found == {
        ("gpu.count", "expected an int of at most 64 bits", ("a.json",), ('"1"',)),
        ("gpu.count", "its key is repeated", ("lab/c.json",), ()),
        ("", "the sheet is not a JSON object", ("lab/b.json", "lab/f.json"), ()),
    }


def test_a_repeated_name_in_a_directory_names_both_sheets(database: Database, tmp_path: Path) -> None:
    directory = tmp_path / "sheets"
    directory.mkdir()
    for name in "abc":
        (directory / f"{name}.json").write_text('{"device_id": "x", "facts": {}}')
    (found,) = findings(database, directory)
    assert (found.devices, found.sheets, found.earlier) == (2, ("b.json", "c.json"), ("a.json", "a.json"))


def test_identifying_values_are_not_kept(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"device_id": "a", "device.id": 17, "cpu.arch": "arm64"}\n')
    (finding,) = findings(database, path)
    assert (finding.fact, finding.values) == ("device.id", ())


def test_a_name_that_is_a_number_or_a_truth_value_is_its_text(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"device_id": {name}, "gpu.count": 1}}\n' for name in ("17", "true", '"x"')))
    assert [*sheets(database, path)] == ["17", "true", "x"]
    path = tmp_path / "b.jsonl"
    path.write_text('{"device_id": 17, "gpu.count": 1}\n{"device_id": "17", "gpu.count": 1}\n')
    assert [finding.problem for finding in findings(database, path)] == ["another row has the same name"]


def test_a_line_without_an_object_is_not_counted_as_a_device_without_a_name(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"device_id": "a", "os.name": "linux"}\nbroken\n{"device_id": ""}\n{"os.name": "linux"}\n'
    )
    found = {(each.problem, each.devices, each.rows) for each in findings(database, path)}
    assert found == {("the line is not a JSON object", 1, (2,)), ("the device has no name", 2, (3, 4))}


def test_a_list_or_an_object_is_not_the_name_of_a_device(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    names = ('["a"]', '{"x": 1}', '{"value": ["a"]}', '{"value": {"value": "a"}}', "null", '{"value": "b"}')
    path.write_text("".join(f'{{"device_id": {name}, "gpu.count": 1}}\n' for name in names))
    (finding,) = findings(database, path)
    assert (finding.devices, finding.rows) == (5, (1, 2, 3))
    assert finding.help == "expected a text, a number or a truth value that is not blank"


def test_an_unknown_key_of_a_line_gets_the_same_help_as_a_column(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"device_id": "a", "cpu__availble_cores": 4}\n{"device_id": "b", "region": "x"}\n')
    one, other = findings(database, path)
    assert str(one.help).startswith("did you mean 'cpu.available_cores'? To leave out a column")
    assert str(one.help).endswith("give --ignore cpu__availble_cores")
    assert other.help == "To leave out a column that is not a fact, give --ignore region"


class TestProgress:
    """The progress of long queries is reported while they run."""

    def test_a_query_is_followed_until_it_ends(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("etconfig.fleet.inventory.database._LOOK_EVERY_S", 0.002)
        seen: list[float | None] = []
        database.rows("SET threads = 1")
        database.rows("CREATE TABLE numbers AS SELECT range AS number FROM range(500_000)")
        with followed(database, seen.append):
            while len(seen) < 2:
                database.rows("SELECT count(DISTINCT md5(number::VARCHAR)) FROM numbers")
        *percentages, last = seen
        assert last is None
        assert all(each is not None and 0 < each <= 100 for each in percentages)

    def test_without_a_listener_nothing_is_measured(self, database: Database) -> None:
        with followed(database, None):
            assert database.rows("SELECT current_setting('enable_progress_bar')") == [(False,)]
