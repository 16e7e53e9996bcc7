"""`etconfig fleet` with names and files that somebody chose to do harm, and with damaged ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Outcome

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

Cli = Callable[..., Outcome]


def write_table(path: Path, select: str) -> Path:
    """A Parquet file with the rows of a query."""
    beside = path.parent / "table.tmp"
    duckdb.connect().execute(f"COPY ({select}) TO '{beside}' (FORMAT parquet)")
    beside.rename(path)
    return path


def table(path: Path) -> list[tuple[Any, ...]]:
    """The rows of a Parquet file."""
    return list(duckdb.connect().execute(f"SELECT * FROM '{path}' ORDER BY ALL").fetchall())


HOSTILE_NAMES = [
    "a[1].parquet",
    "a[!x].parquet",
    "b*.parquet",
    "c?.parquet",
    "**.parquet",
    "{x,y}.parquet",
    "it's.parquet",
    'say "x".parquet',
    "x'; DROP TABLE outcomes; --.parquet",
    "back\\slash.parquet",
    "new\nline.parquet",
    "\x1b[31mred.parquet",
    "$(touch owned).parquet",
    "%s%n{0}.parquet",
    "-o.parquet",
    "~.parquet",
    "ünïcode 🦆.parquet",
]


@pytest.mark.posix
class TestPaths:
    """A path is one file, whatever characters it has."""

    @pytest.mark.parametrize("name", HOSTILE_NAMES)
    def test_a_file_is_read_alone(self, cli: Cli, place: Path, name: str) -> None:
        (place / "fleet").mkdir()
        for other in ("a1.parquet", "b2.parquet", "c3.parquet"):
            write_table(place / "fleet" / other, "SELECT 'other' AS device_id")
        write_table(place / "fleet" / name, "SELECT 'mine' AS device_id, 'linux' AS \"os.name\"")
        for words in (("validate",), ("coverage",), ("resolve", "-o", f"out {name}")):
            done = cli("fleet", *words, f"fleet/{name}", *(("--json",)))
            assert done.status == 0, done.stderr
            assert done.json["devices"] == 1
            assert "\x1b" not in done.stdout + done.stderr
        assert [row[0] for row in table_in(place / f"out {name}")] == ["mine"]


def table_in(directory: Path) -> list[tuple[Any, ...]]:
    """The assignments in a directory, whose name may have any characters."""
    found = directory / "assignments.parquet"
    plain = found.rename(directory.parent / "read.parquet")
    return table(plain)


LIMITED = """
import resource, sys
sys.dont_write_bytecode = True  # before Python 3.14, a module cut off at the limit is kept
from etconfig.cli.startup.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
sys.exit(main())
"""
"""A process that writes no file beyond a number of bytes, as on a full disk."""


@pytest.mark.posix
class TestFullDisk:
    """A run that cannot write ends with one line, and continues after its finished files."""

    @pytest.mark.parametrize(
        ("limit", "named", "finished"),
        [(100_000, "out/.etconfig-parts/", 1), (200_000, "out/assignments.parquet", 3)],
        ids=["the table of a file", "the table of all"],
    )
    def test_the_run_continues(self, cli: Cli, place: Path, limit: int, named: str, finished: int) -> None:
        (place / "fleet").mkdir()
        for name, rows in (("a", 500), ("b", 8000), ("c", 8000)):
            ids = f"SELECT md5('{name}' || i) AS device_id FROM range({rows}) t(i)"
            write_table(place / "fleet" / f"{name}.parquet", ids)
        words = ("fleet", "resolve", "fleet", "-o", "out")
        full = subprocess.run(
            [sys.executable, "-c", LIMITED, str(limit), *words], capture_output=True, text=True, timeout=100
        )
        assert (full.returncode, full.stdout) == (2, "")
        assert full.stderr.startswith("error: ")
        assert full.stderr.count("\n") == 1
        assert named in full.stderr
        assert "File too large" in full.stderr
        kept = sorted((place / "out" / ".etconfig-parts").iterdir())
        assert len(kept) == 2 * finished  # a table and its counts, and nothing half written
        assert not (place / "out" / "assignments.parquet").exists()
        done = cli(*words)
        assert done.status == 0, done.stderr
        assert len(table(place / "out" / "assignments.parquet")) == 16_500
        assert len(list((place / "out").iterdir())) == 3

    def test_the_tables_of_an_earlier_run_stay_together(self, cli: Cli, place: Path) -> None:
        (place / "fleet").mkdir()
        for name in ("a", "b", "c"):
            ids = f"SELECT md5('{name}' || i) AS device_id, 'linux' AS \"os.name\" FROM range(8000) t(i)"
            write_table(place / "fleet" / f"{name}.parquet", ids)
        words = ("fleet", "resolve", "fleet", "-o", "out")
        assert cli(*words).status == 0
        before = {path.name: path.read_bytes() for path in (place / "out").iterdir()}
        full = subprocess.run(
            [sys.executable, "-c", LIMITED, "200000", *words, "--profile", "generic/any"],
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert full.returncode == 2
        assert full.stderr.startswith("error: out/assignments.parquet: ")
        assert full.stderr.endswith(": File too large\n")
        kept = {path.name: path.read_bytes() for path in (place / "out").iterdir() if path.is_file()}
        assert kept == before


def test_a_directory_in_the_place_of_a_table_is_named(cli: Cli, place: Path) -> None:
    write_table(place / "a.parquet", "SELECT 'a' AS device_id")
    (place / "out" / "assignments.parquet").mkdir(parents=True)
    done = cli("fleet", "resolve", "a.parquet", "-o", "out", "--force")
    assert done.status == 2
    assert done.stderr == "error: cannot write out/assignments.parquet: it is not a regular file; remove it\n"
    assert sorted(path.name for path in (place / "out").iterdir()) == ["assignments.parquet"]


def test_a_damaged_file_among_others_is_named(cli: Cli, place: Path) -> None:
    (place / "fleet").mkdir()
    for number in range(3):
        write_table(place / "fleet" / f"{number}.parquet", "SELECT 'a' AS device_id")
    whole = (place / "fleet" / "1.parquet").read_bytes()
    for end in (0, 4, len(whole) // 2, len(whole) - 1):
        (place / "fleet" / "1.parquet").write_bytes(whole[:end])
        done = cli("fleet", "resolve", "fleet", "-o", "out")
        assert done.status == 2
        assert "cannot read fleet/1.parquet" in done.stderr
        assert not (place / "out").exists()
