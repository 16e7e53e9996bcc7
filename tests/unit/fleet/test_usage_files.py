"""Files of usage records: SQL and `UsageRecord` refuse the same records, and damaged files are named."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from effort import seeds
from usage_records import broken, random_record

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

from etconfig import UsageRecord  # noqa: E402
from etconfig.errors import FactError  # noqa: E402
from etconfig.fleet.inventory.database import Database  # noqa: E402
from etconfig.fleet.inventory.inventory import find_sources  # noqa: E402
from etconfig.fleet.usage.usage_files import usage_relation  # noqa: E402


def rows_of(tmp_path: Path, *files: Path) -> list[dict[str, Any]]:
    """The rows of all files, in their order."""
    database = Database("512MiB", 2, tmp_path)
    relation = usage_relation(database, find_sources([str(each) for each in files]))
    result = database.connection.execute(f"FROM {relation} ORDER BY file, row")
    names = [each[0] for each in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read(text: str) -> UsageRecord | None:
    try:
        return UsageRecord.from_json(text)
    except ValueError:
        return None


def test_lines_are_read_as_usagerecord_reads_them(tmp_path: Path) -> None:
    lines = []
    for seed in seeds(400):
        random = Random(seed)
        record = random_record(random)
        lines += [json.dumps(each) for each in (record, broken(random, record))]
    rows = rows_of(tmp_path, write(tmp_path / "usage.jsonl", *lines))
    assert len(rows) == len(lines)
    for number, (line, row) in enumerate(zip(lines, rows, strict=True), 1):
        record = read(line)
        assert (row["problem"] is None) == (record is not None), (line, row["problem"])
        assert row["row"] == number
        if record is not None:
            same = ("device", "bundle", "revision", "profile", "reason", "variant", "at")
            assert [row[name] for name in same] == [getattr(record, name) for name in same]
            assert row["has_failed"] == (record.failure is not None)
            assert json.loads(row["options"] or "null") == record.options
            durations = record.durations_us or {}
            names = ("load", "first_run", "p50", "p95")
            assert [row[name] for name in names] == [durations.get(name) for name in names]


def test_damaged_lines_are_counted_by_the_problem(tmp_path: Path) -> None:
    start = '{"etconfig_usage": 1, "reason": "matched"'
    lines = {
        start: "it is not a line of JSON",
        "\x00\x01": "it is not a line of JSON",
        "[" * 2000: "it is not a line of JSON",
        "[]": "a usage record is a JSON object with 'etconfig_usage'",
        "{}": "a usage record is a JSON object with 'etconfig_usage'",
        '{"etconfig_usage": 2, "reason": "later"}': "etconfig_usage: version 2 is not known",
        f'{start}, "reason": "error"}}': "it is not a line of JSON: the key 'reason' is repeated",
        '{"etconfig_usage": 1, "reason": "because"}': "reason: expected one of matched, fallback",
        f'{start}, "device": 17}}': "device: expected a text that is not empty",
        f'{start}, "at": 1.5}}': "at: expected a whole number, 0 or more",
        f'{start}, "durations_us": {{"p50": -1}}}}': "durations_us: expected an object with load, first_run",
        f'{start}, "durations_us": {{"p50": 1e15}}}}': "durations_us: expected an object with load",
        f'{start}, "device": "\\ud800"}}': "it is not a line of JSON: 'utf-8' codec can't encode",
        f'{start}, "durations_us": {{"p50": "1"}}}}': "durations_us: expected an object with load, first_run",
        f'{start}, "x": "{"x" * 2100}"}}': "a usage record takes at most 2,048 bytes",
        "x" * (3 << 20): "a usage record takes at most 2,048 bytes",
    }
    rows = rows_of(tmp_path, write(tmp_path / "usage.jsonl", *lines))
    for row, text in zip(rows, lines.values(), strict=True):
        assert row["problem"].startswith(text)
        assert (row["device"], row["p50"]) == (None, None)


def test_other_values_of_one_field_are_one_problem(tmp_path: Path) -> None:
    lines = [f'{{"etconfig_usage": 1, "reason": "r{n}"}}' for n in range(9)]
    assert len({row["problem"] for row in rows_of(tmp_path, write(tmp_path / "a.jsonl", *lines))}) == 1
    cut = ['{"etconfig_usage": 1, "reason": ' + " " * n for n in range(9)]
    assert len({row["problem"] for row in rows_of(tmp_path, write(tmp_path / "b.jsonl", *cut))}) == 1


def test_empty_lines_count_in_the_numbers_of_rows(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, write(tmp_path / "a.jsonl", "", "x" * (3 << 20), " ", "[]"))
    assert [row["row"] for row in rows] == [2, 4]


def test_files_without_records_have_no_rows(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert rows_of(tmp_path, tmp_path / "empty.jsonl", write(tmp_path / "blank.jsonl", "", "")) == []


COLUMNS = "1 AS etconfig_usage, 'matched' AS reason, 'd' AS device"
WRONG_OPTIONS = (
    *("'[{'", "'7'", "'null'", "'[7]'", "'[null]'", "'{}'"),
    *('\'[{"path": "a"}]\'', '\'[{"path": null, "value": 1}]\'', "[{'path': NULL::VARCHAR, 'value': 1}]"),
)


def parquet(path: Path, columns: str) -> Path:
    duckdb.connect().execute(f"COPY (SELECT {columns}) TO '{path}' (FORMAT parquet)")
    return path


def test_lines_that_duckdb_writes_as_parquet_are_read_the_same(tmp_path: Path) -> None:
    record = {
        "etconfig_usage": 1,
        "reason": "fallback",
        "device": "d",
        "at": 5,
        "revision": 7,
        "options": [{"path": "A.b", "value": 4, "source": "x"}, {"path": "A.c", "value": 5, "source": "x"}],
        "durations_us": {"load": 1.5, "p95": 3},
        "left_out": {"options": 2},
    }
    lines = write(tmp_path / "a.jsonl", json.dumps(record))
    target = parquet(tmp_path / "a.parquet", f"* FROM read_json('{lines}')")
    (one,), (other,) = rows_of(tmp_path, lines), rows_of(tmp_path, target)
    assert json.loads(one.pop("options")) == json.loads(other.pop("options")) == record["options"]
    assert one == other
    assert one["has_all_options"] is False


def test_rows_of_parquet_are_checked_too(tmp_path: Path) -> None:
    wrong = {
        "2 AS etconfig_usage, 'matched' AS reason": "etconfig_usage: this etconfig reads version 1",
        "NULL::INT AS etconfig_usage, 'matched' AS reason": "etconfig_usage: this etconfig reads version 1",
        "1 AS etconfig_usage, 'because' AS reason": "reason: expected one of",
        f"{COLUMNS}, '' AS profile": "profile: expected a text",
        f"{COLUMNS}, -1 AS at": "at: expected a whole number",
        f"{COLUMNS}, 18446744073709551615::UBIGINT AS at": "at: expected a whole number",
        f"{COLUMNS}, {{'p50': -1.0}} AS durations_us": "durations_us.p50: expected",
        f"{COLUMNS}, {{'p50': 'nan'::DOUBLE}} AS durations_us": "durations_us.p50: expected",
        f"{COLUMNS}, {{'p50': 1.7e308}} AS durations_us": "durations_us.p50: expected",
        **{f"{COLUMNS}, {each} AS options": "options: expected a list" for each in WRONG_OPTIONS},
    }
    for number, (columns, text) in enumerate(wrong.items()):
        (row,) = rows_of(tmp_path, parquet(tmp_path / f"{number}.parquet", columns))
        assert text in row["problem"], columns


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("1 AS a", "it has no column etconfig_usage, so it has no usage records"),
        ("1 AS etconfig_usage, 2 AS reason", "its column reason is INTEGER, but must be"),
        (f"{COLUMNS}, 'x' AS at", "its column at is VARCHAR, but must be"),
        (f"{COLUMNS}, INTERVAL 1 DAY AS at", "its column at is INTERVAL, but must be BIGINT"),
        (f"{COLUMNS}, [1] AS revision", r"its column revision is INTEGER\[\], but must be BIGINT"),
        (f"{COLUMNS}, ['p'] AS profile", r"its column profile is VARCHAR\[\], but must be VARCHAR"),
        (
            f"{COLUMNS}, {{'p50': [1.5]}} AS durations_us",
            r"durations_us.p50 is DECIMAL.*\[\], but must be DOUBLE",
        ),
        (f"{COLUMNS}, 1 AS durations_us", "durations_us.* has no fields: write a STRUCT"),
        (f"{COLUMNS}, [1] AS options", r"its column options is INTEGER.*, but must be STRUCT"),
        (f"{COLUMNS}, {{'p50': 'x'}} AS durations_us", "its column durations_us.p50 is VARCHAR"),
    ],
)
def test_a_file_with_a_wrong_column_is_refused(tmp_path: Path, columns: str, message: str) -> None:
    with pytest.raises(FactError, match=message):
        rows_of(tmp_path, parquet(tmp_path / "a.parquet", columns))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sheets").mkdir()
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(FactError, match="there is no such file"):
        rows_of(tmp_path, tmp_path / "no*.jsonl")
    with pytest.raises(FactError, match="it has no usage records"):
        rows_of(tmp_path, tmp_path / "sheets")
    with pytest.raises(FactError, match=r"cannot read .*a\.parquet"):
        rows_of(tmp_path, tmp_path / "a.parquet")
