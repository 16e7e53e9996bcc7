"""Lines of JSON that Arrow reads give the table that DuckDB makes of them, value by value."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra etconfig[jsonl]")

from json_lines import LineWriter  # noqa: E402

from etconfig.facts import BUILTIN_FACTS  # noqa: E402
from etconfig.fleet import json_blocks, line_conversion, parquet_parts  # noqa: E402
from etconfig.fleet.columns import LINE_COLUMN  # noqa: E402
from etconfig.fleet.database import Database, opened_database  # noqa: E402
from etconfig.fleet.json_sql import convert_exactly  # noqa: E402
from etconfig.fleet.line_conversion import convert_lines  # noqa: E402

FILES = int(os.environ.get("ETCONFIG_FLEET_ROWS", "5000")) // 50


def outcome(convert: Any, database: Database, path: Path, target: Path, *how: object) -> Any:
    """The table, sorted by lines, or the error."""
    target.unlink(missing_ok=True)
    try:
        with database.reading():
            convert(database, path, target, BUILTIN_FACTS, *how)
    except OSError as error:
        return str(error)
    table = parquet.read_table(target).sort_by(LINE_COLUMN)
    return {name: [repr(value) for value in table[name].to_pylist()] for name in table.column_names}


@pytest.mark.timeout(3000)
def test_arrow_and_duckdb_give_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {"lines": 0, "by Arrow": 0}
    read = json_blocks.BlockReader.read

    def counted(*arguments: Any) -> Any:
        found = read(*arguments)
        seen["by Arrow"] += sum(0 if isinstance(each, bytes) else each.num_rows for each in found)
        return found

    monkeypatch.setattr(json_blocks.BlockReader, "read", counted)
    with opened_database("512MiB", 1) as one, opened_database("512MiB", 2) as two:
        for seed in range(int(os.environ.get("ETCONFIG_SEED", "0")), FILES):
            random = Random(seed)
            monkeypatch.setattr(line_conversion, "_SMALLEST_BLOCK_BYTES", 1)
            monkeypatch.setattr(line_conversion, "_BLOCK_BYTES", random.choice([300, 1000, 4000, 1 << 20]))
            monkeypatch.setattr(line_conversion, "_SAMPLED_BYTES", random.choice([30, 500, 1 << 20]))
            monkeypatch.setattr(json_blocks, "_MIN_PIECE_BYTES", random.choice([1, 200, 64 << 10]))
            monkeypatch.setattr(parquet_parts, "_GROUP_ROWS", random.choice([1, 7, 100_000]))
            writer = LineWriter(random)
            path = tmp_path / "devices.jsonl"
            count = random.choice([0, 3, 20, 60, 200])
            path.write_bytes(writer.file(count))
            id_column = random.choice([*[None, writer.id_key] * 6, "device.model", "memory.total"])
            ignored = random.choice(
                [
                    ("note", "region"),
                    ["note", "region"],
                    ["note", "serial", "cpu.arch"],
                    ["cpu__arch", "device_id"],
                ]
            )
            how = (id_column, ignored)
            expected = outcome(convert_exactly, one, path, tmp_path / "exact.parquet", *how)
            found = outcome(convert_lines, random.choice([one, two]), path, tmp_path / "lines.parquet", *how)
            assert found == expected, (seed, how)
            seen["lines"] += count
    assert seen["by Arrow"] > seen["lines"] / 6, seen
