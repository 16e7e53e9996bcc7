"""The tables of a fleet: what each device gets, what that is, and why others get nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from etconfig.base.written_files import FileKind, FilesOfRun, errors_of, whole_file, whole_files
from etconfig.fleet.deciding.grouping import group_number, keyed_devices
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.deciding.rollouts import rollouts_of, sides_of
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.sql_names import quoted_path, quoted_text
from etconfig.fleet.running.part_decision import DecidedGroups
from etconfig.fleet.running.part_result import PartResult

RESULT_TABLES = ("assignments.parquet", "resolutions.parquet", "problems.parquet")
"""The names of the tables in a directory of results."""

_MARK = "etconfig_fleet"
TABLE_FORMAT = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{_MARK}: '1'}}"
"""How tables are written: with a mark, so that only these are replaced."""


def write_assignments(database: Database, decided: DecidedGroups, plan: FleetPlan, target: Path) -> None:
    """Write a row for each device: name, profile, resolution and rollouts; whole or not at all."""
    columns: list[list[object]] = [[], [], [], []]
    rollouts = rollouts_of(plan)
    for group, outcome in zip(decided.groups, decided.outcomes[0], strict=True):
        sides = sides_of(rollouts, plan, outcome.profile, group.facts)
        row = (group.number, outcome.profile, outcome.resolution, json.dumps(sides) if sides else None)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    database.rows(
        "CREATE OR REPLACE TEMP TABLE outcomes AS SELECT unnest(?::UBIGINT[]) AS number, "
        "unnest(?::VARCHAR[]) AS profile, unnest(?::VARCHAR[]) AS resolution, "
        "unnest(?::VARCHAR[]) AS rollouts",
        columns,
    )
    number, devices = group_number(decided.key, decided.salt), keyed_devices(decided.part, decided.key)
    with whole_file(target) as beside:
        database.rows(
            f"COPY (SELECT device AS device_id, profile, resolution, rollouts FROM (SELECT device, {number} "
            f"AS number FROM ({devices})) JOIN outcomes USING (number)) TO {quoted_text(os.fspath(beside))} "
            f"({TABLE_FORMAT})"
        )


def write_result_tables(
    database: Database, result: PartResult, parts: Sequence[Path], directory: Path
) -> None:
    """Write all tables of a fleet; they replace the tables of an earlier run together.

    Args:
        database: The database.
        result: The outcomes of all devices.
        parts: The assignments of each file; a single one becomes the fleet's.
        directory: The directory for the tables.

    Raises:
        OSError: a table cannot be read or written; the tables of an earlier run are still there.
    """
    targets = [directory / name for name in RESULT_TABLES]
    with whole_files(targets) as (assignments, resolutions, problems):
        _write_resolutions(database, result, resolutions)
        _write_problems(database, result, problems)
        with errors_of(targets[0], assignments), database.reading():
            join_assignments(database, parts, assignments)


def _write_resolutions(database: Database, result: PartResult, target: Path) -> None:
    options = [
        (
            resolution,
            each.path.method,
            each.path.instance,
            each.path.backend,
            each.path.option,
            each.value,
            each.origin,
        )
        for resolution, outcome in sorted(result.resolutions.items())
        for each in outcome.options
    ]
    names = ("resolution", "method", "instance", "backend", "option", "value", "origin")
    _write_rows(database, options, dict.fromkeys(names, "VARCHAR"), target)


def _write_problems(database: Database, result: PartResult, target: Path) -> None:
    kinds = {
        "cause": "VARCHAR",
        "message": "VARCHAR",
        "profile": "VARCHAR",
        "devices": "BIGINT",
        "example": "VARCHAR",
    }
    _write_rows(database, result.problems(), kinds, target)


def _write_rows(
    database: Database, rows: Sequence[Sequence[object]], columns: dict[str, str], target: Path
) -> None:
    values: list[list[object]] = [[row[place] for row in rows] for place in range(len(columns))]
    selected = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in columns.items())
    database.rows(f"COPY (SELECT {selected}) TO {quoted_text(os.fspath(target))} ({TABLE_FORMAT})", values)


def join_assignments(database: Database, parts: Sequence[Path], target: Path) -> None:
    """Make one table of the assignments of several files, in their order.

    Raises:
        OSError: a table cannot be read or written.
    """
    if len(parts) == 1:
        parts[0].replace(target)
        return
    files = ", ".join(quoted_path(path) for path in parts)
    rows = f"FROM read_parquet([{files}], hive_partitioning = false)"
    with database.in_order():
        database.rows(f"COPY ({rows}) TO {quoted_text(os.fspath(target))} ({TABLE_FORMAT})")


def check_result_tables(database: Database, directory: Path, files: FilesOfRun) -> None:
    """Check that a run may write its tables into a directory.

    Raises:
        RefusedFileError: something else is in the place of one.
    """
    for name in RESULT_TABLES:
        files.check(directory / name, table_kind(database), is_named=False)


def table_kind(database: Database) -> FileKind:
    """Return the kind of file that a run writes."""
    return FileKind("a table that `etconfig fleet` has written", partial(is_table, database))


def is_table(database: Database, path: Path) -> bool:
    """Return True if a file is a table that a run has written."""
    with database.reading():
        found = database.rows(
            f"SELECT count(*) FROM parquet_kv_metadata({quoted_path(path)}) "
            f"WHERE decode(key) = {quoted_text(_MARK)}"
        )
    return bool(found[0][0])
