"""Tables of a fleet: row groups of several files, appended without decoding them."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

from etconfig.fleet import result_tables  # noqa: E402
from etconfig.fleet.database import Database  # noqa: E402
from etconfig.fleet.parquet_joining import NotJoinableError, join_parquet  # noqa: E402
from etconfig.fleet.part_result import PartResult  # noqa: E402
from etconfig.fleet.result_tables import RESULT_TABLES, join_assignments, write_result_tables  # noqa: E402
from etconfig.fleet.thrift_compact import (  # noqa: E402
    BINARY,
    BYTE,
    DOUBLE,
    FALSE,
    I16,
    I32,
    I64,
    LIST,
    SET,
    STRUCT,
    TRUE,
    ThriftReader,
    ThriftStruct,
    thrift_bytes,
)


def random_struct(random: Random, depth: int = 0) -> ThriftStruct:
    """A struct with fields of every kind, some of them far apart."""
    numbers = sorted(random.sample(range(1, 300), random.randrange(8)))
    return {number: random_field(random, depth) for number in numbers}


def random_field(random: Random, depth: int) -> tuple[int, Any]:
    kind = random.choice([TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT])
    return kind, random_value(random, kind, depth)


def random_value(random: Random, kind: int, depth: int) -> Any:
    if kind == STRUCT:
        return random_struct(random, depth + 1) if depth < 4 else {}
    if kind in (LIST, SET):
        inner = random.choice([BYTE, I64, BINARY, STRUCT] if depth > 3 else [BYTE, I64, BINARY, STRUCT, LIST])
        return inner, [
            random_value(random, inner, depth + 1) for _ in range(random.choice([0, 1, 14, 15, 20]))
        ]
    if kind in (I16, I32, I64):
        bits = {I16: 15, I32: 31, I64: 63}[kind]
        return random.choice([0, -1, 63, 64, -(1 << bits), (1 << bits) - 1, random.getrandbits(bits)])
    return {
        TRUE: True,
        FALSE: False,
        BYTE: random.randrange(256),
        DOUBLE: random.random(),
        BINARY: random.randbytes(random.choice([0, 1, 200])),
    }[kind]


def test_a_struct_is_read_as_it_was_written() -> None:
    random = Random(3)
    for _ in range(300):
        tree = random_struct(random)
        assert ThriftReader(thrift_bytes(tree)).read_struct() == tree


def test_what_is_not_a_struct_is_refused() -> None:
    """Every piece of one is refused; 3,000 with a byte changed are refused or are another struct."""
    random = Random(4)
    whole = b""
    while len(whole) < 300:
        whole = thrift_bytes(random_struct(random))
    for end in range(len(whole)):
        with pytest.raises(ValueError, match="end within"):
            ThriftReader(whole[:end]).read_struct()
    for _ in range(3000):
        changed = bytearray(whole)
        changed[random.randrange(len(whole))] = random.randrange(256)
        with suppress(ValueError):
            ThriftReader(bytes(changed)).read_struct()
    with pytest.raises(ValueError, match="too deep"):
        ThriftReader(b"\x1c" * 1000).read_struct()
    with pytest.raises(ValueError, match="too many bytes"):
        ThriftReader(b"\x16" + b"\xff" * 20).read_struct()


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


@pytest.mark.parametrize("codec", ["zstd", "snappy", "uncompressed"])
@pytest.mark.parametrize("version", ["V1", "V2"])
def test_joined_files_have_the_rows_of_all(tmp_path: Path, codec: str, version: str) -> None:
    """In their order, with empty files among them; filters by statistics and Bloom filters work."""
    further = f", COMPRESSION {codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048"
    sizes = (5000, 0, 1, 40_000, 2048)
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    parts = [
        write(tmp_path / f"{n}.parquet", size, start, further)
        for n, (size, start) in enumerate(zip(sizes, starts, strict=True))
    ]
    target = tmp_path / "all.parquet"
    join_parquet(parts, target)
    assert rows_of([target]) == rows_of(parts)
    database = duckdb.connect()
    database.execute("SET threads = 1")
    names = database.execute(f"SELECT device_id FROM '{target}'").fetchall()
    assert names == [(f"device-{n}",) for n in range(sum(sizes))]
    for n in (0, 4999, 5000, 30_000, sum(sizes) - 1):
        digest = f"md5(CAST({(n - max(s for s in starts if s <= n)) % 300} AS VARCHAR))"
        query = f"SELECT count(*) FROM '{target}' WHERE device_id = 'device-{n}' AND resolution = {digest}"
        assert database.execute(query).fetchall() == [(1,)]
    keys = database.execute(
        f"SELECT decode(key), decode(value) FROM parquet_kv_metadata('{target}')"
    ).fetchall()
    assert keys == [("etconfig_fleet", "1")]


def test_joining_a_joined_file(tmp_path: Path) -> None:
    parts = [write(tmp_path / f"{n}.parquet", 3000, 3000 * n) for n in range(3)]
    join_parquet(parts[:2], tmp_path / "two.parquet")
    join_parquet([tmp_path / "two.parquet", parts[2]], tmp_path / "all.parquet")
    assert rows_of([tmp_path / "all.parquet"]) == rows_of(parts)


def test_tables_with_other_columns_are_decoded(tmp_path: Path) -> None:
    """As another version of DuckDB might write them."""
    parts = [write(tmp_path / "a.parquet", 10), write(tmp_path / "b.parquet", 10, 10, ", FIELD_IDS 'auto'")]
    with pytest.raises(NotJoinableError):
        join_parquet(parts, tmp_path / "c.parquet")
    before = rows_of(parts)
    join_assignments(Database("1GiB", 1, tmp_path), parts, tmp_path / "c.parquet")
    assert rows_of([tmp_path / "c.parquet"]) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet", "c.parquet"]


@pytest.mark.parametrize("end", [0, 3, 12, 2000, -9, -1])
def test_a_damaged_part_is_named(tmp_path: Path, end: int) -> None:
    parts = [write(tmp_path / f"{n}.parquet", 3000) for n in range(2)]
    parts[1].write_bytes(parts[1].read_bytes()[:end])
    with pytest.raises(OSError, match="it is damaged: ") as refused:
        write_result_tables(Database("1GiB", 1, tmp_path), PartResult(), parts, tmp_path)
    assert refused.value.filename == str(parts[1])
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
