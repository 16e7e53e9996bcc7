"""Tables of a fleet: one file from those of several, and files that are replaced together."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

from etconfig.fleet.inventory.database import Database  # noqa: E402
from etconfig.fleet.running import result_tables  # noqa: E402
from etconfig.fleet.running.part_result import PartResult  # noqa: E402
from etconfig.fleet.running.result_tables import RESULT_TABLES, join_assignments, write_result_tables  # noqa: E402

COLUMNS = {
    "device_id": "'device-' || (i + {start})",
    "profile": "CASE WHEN i % 7 > 0 THEN 'profile-' || (i * i % 40) END",
    "resolution": "md5(CAST(i % 300 AS VARCHAR))",
}


def write(path: Path, rows: int, start: int = 0, further: str = "", **columns: str) -> Path:
    """A table as a run writes it, with a mark."""
    selected = ", ".join(
        f"{sql.replace('{start}', str(start))} AS {name}" for name, sql in {**COLUMNS, **columns}.items()
    )
    duckdb.connect().execute(
        f"COPY (SELECT {selected} FROM range({rows}) t(i)) TO '{path}' "
        f"(FORMAT parquet, KV_METADATA {{etconfig_fleet: '1'}} {further})"
    )
    return path


def rows_of(paths: Sequence[Path]) -> list[tuple[Any, ...]]:
    names = [str(path) for path in paths]
    return list(duckdb.connect().execute("FROM read_parquet(?) ORDER BY ALL", [names]).fetchall())


def test_joined_files_have_the_rows_of_all_in_their_order(tmp_path: Path) -> None:
    """With empty files among them, and one whose columns are written in another way; the mark is kept."""
    sizes = (5000, 0, 1, 300_000, 2048)
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    parts = [
        write(tmp_path / f"{n}.parquet", size, start, ", FIELD_IDS 'auto'" if n == 2 else "")
        for n, (size, start) in enumerate(zip(sizes, starts, strict=True))
    ]
    target = tmp_path / "all.parquet"
    join_assignments(Database("256MiB", 2, tmp_path), parts, target)
    assert rows_of([target]) == rows_of(parts)
    database = duckdb.connect()
    database.execute("SET threads = 1")
    names = database.execute(f"SELECT device_id FROM '{target}'").fetchall()
    assert names == [(f"device-{n}",) for n in range(sum(sizes))]
    keys = database.execute(f"SELECT decode(key) FROM parquet_kv_metadata('{target}')").fetchall()
    assert ("etconfig_fleet",) in keys
    assert sorted(path.name for path in tmp_path.iterdir()) == [*(path.name for path in parts), "all.parquet"]


@pytest.mark.parametrize("end", [0, 3, 12, 2000, -9, -1])
def test_a_damaged_part_is_named(tmp_path: Path, end: int) -> None:
    parts = [write(tmp_path / f"{n}.parquet", 3000) for n in range(2)]
    parts[1].write_bytes(parts[1].read_bytes()[:end])
    database = Database("1GiB", 1, tmp_path)
    with pytest.raises(OSError, match=r"1\.parquet"), database.reading():
        write_result_tables(database, PartResult(), parts, tmp_path)
    assert sorted(tmp_path.iterdir()) == parts


@pytest.mark.parametrize("name", RESULT_TABLES)
@pytest.mark.parametrize("count", [1, 2])
def test_tables_of_an_earlier_run_are_replaced_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, count: int
) -> None:
    """Whichever table cannot be written."""
    database = Database("1GiB", 1, tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    for earlier in RESULT_TABLES:
        (out / earlier).write_text("of an earlier run")
    parts = [write(tmp_path / f"{n}.parquet", 3000) for n in range(count)]
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(result_tables, _WRITERS[name], failing(full))
    with pytest.raises(OSError, match="No space left on device"):
        write_result_tables(database, PartResult(), parts, out)
    assert {path.name: path.read_text() for path in out.iterdir()} == dict.fromkeys(
        RESULT_TABLES, "of an earlier run"
    )
    assert all(path.exists() for path in parts)
    monkeypatch.undo()
    write_result_tables(database, PartResult(), parts, out)
    assert sorted(path.name for path in out.iterdir()) == sorted(RESULT_TABLES)
    assert all(b"earlier" not in path.read_bytes() for path in out.iterdir())


def failing(error: Exception) -> Callable[..., None]:
    """A writer that has written something when it fails."""

    def write_some(*arguments: Any) -> None:
        arguments[-1].write_text("some")
        raise error

    return write_some


_WRITERS = {
    "assignments.parquet": "join_assignments",
    "resolutions.parquet": "_write_resolutions",
    "problems.parquet": "_write_problems",
}
