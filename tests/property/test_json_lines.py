"""Lines of JSON become the rows that a reader in Python makes of them, one by one."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

from json_line_model import OWN_WAY, LineModel, lines_of
from json_lines import LineWriter

from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.fleet.inventory import json_sql
from etconfig.fleet.inventory.database import Database, opened_database
from etconfig.fleet.inventory.json_sql import convert_lines

FILES = int(os.environ.get("ETCONFIG_FLEET_ROWS", "5000")) // 50


def rows_of(database: Database, path: Path, id_column: str | None, ignored: Any) -> list[tuple[Any, ...]]:
    """The line, the name of the device, the other facts and the problems of each row."""
    target = path.with_suffix(".parquet")
    convert_lines(database, path, target, BUILTIN_FACTS, id_column, ignored)
    names = [*database.columns(f"read_parquet('{target}')")]
    rows = []
    for device, line, problems, *values in database.rows(f"FROM read_parquet('{target}')"):
        pairs = zip(names[3:], values, strict=True)
        facts = {n: v for n, v in pairs if v is not None and not n.startswith("device.id")}
        rows.append((line, device, facts, [(each["fact"] or "", each["problem"]) for each in problems]))
    return rows


@pytest.mark.timeout(3000)
def test_every_line_is_read_as_python_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"lines": 0, "problems": 0}
    with opened_database("512MiB", 1) as one, opened_database("512MiB", 2) as two:
        for seed in range(int(os.environ.get("ETCONFIG_SEED", "0")), FILES):
            random = Random(seed)
            monkeypatch.setattr(json_sql, "_SAMPLED_LINES", random.choice([1, 5, 5_000]))
            writer = LineWriter(random)
            path = tmp_path / "devices.jsonl"
            path.write_bytes(writer.file(random.choice([0, 3, 20, 60, 200])))
            id_column = random.choice([None, writer.id_key, writer.id_key])
            ignored = random.choice([(), ("note", "region"), ("note", "serial", "cpu.arch"), ("cpu__arch",)])
            model = LineModel(BUILTIN_FACTS, id_column, ignored)
            lines = lines_of(path.read_bytes())
            rows = rows_of(random.choice([one, two]), path, id_column, ignored)
            assert [row[0] for row in rows] == list(range(1, len(lines) + 1)), seed
            for line, row in zip(lines, rows, strict=True):
                if OWN_WAY.search(line):
                    continue
                expected = model.read(line)
                assert repr(row[1:]) == repr(expected), (seed, line[:2000], row[0])
                seen["lines"] += 1
                seen["problems"] += len(expected[2])
    assert seen["lines"] > 10 * FILES
    assert seen["problems"] > FILES
