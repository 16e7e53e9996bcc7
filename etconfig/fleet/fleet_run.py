"""A run over the files of a fleet, which can be interrupted and resumed by file."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from etconfig.fleet.database import Database
from etconfig.fleet.inventory import InventoryPart
from etconfig.fleet.part_result import PartResult, merged_results
from etconfig.fleet.plan import FleetPlan
from etconfig.fleet.resolving import decide_part, join_assignments, write_assignments, write_result_tables
from etconfig.fleet.whole_file import whole_file

PARTS = "parts"
"""The directory of finished files, inside of that of the results; it is removed at the end."""

OnPart = Callable[[InventoryPart, int, int], None]
"""Called before each file, with its number from 1 and the number of files."""


def summarize_fleet(
    database: Database, parts: Sequence[InventoryPart], plan: FleetPlan, on_part: OnPart
) -> PartResult:
    """Return the outcomes of all devices, counted."""

    def results() -> Iterator[PartResult]:
        for number, part in enumerate(parts, 1):
            on_part(part, number, len(parts))
            yield decide_part(database, part, [plan]).result()

    return merged_results(results())


def resolve_fleet(
    database: Database,
    parts: Sequence[InventoryPart],
    plan: FleetPlan,
    directory: Path,
    settings: str,
    on_part: OnPart,
) -> PartResult:
    """Write what every device gets into a directory: assignments, resolutions and problems.

    Files that an interrupted run with the same settings has finished are not resolved again.

    Args:
        database: The database.
        parts: The files.
        plan: Decides about the devices.
        directory: The directory for the results.
        settings: A text that changes with all that the results depend on, but the files.
        on_part: Called before each file.

    Raises:
        OSError: the results cannot be written, or another run writes to the directory.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with only_run(directory):
        return _resolve_into(database, parts, plan, directory, settings, on_part)


def _resolve_into(
    database: Database,
    parts: Sequence[InventoryPart],
    plan: FleetPlan,
    directory: Path,
    settings: str,
    on_part: OnPart,
) -> PartResult:
    finished = directory / PARTS
    finished.mkdir(exist_ok=True)
    results: list[PartResult] = []
    tables: list[Path] = []
    for number, part in enumerate(parts, 1):
        key = f"{part.source.identity}\0{part.id_column}\0{settings}"
        name = hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()[:24]
        table, summary = finished / f"{name}.parquet", finished / f"{name}.json"
        tables.append(table)
        if table.exists() and summary.exists():
            results.append(PartResult.from_jsonable(json.loads(summary.read_text(encoding="utf-8"))))
            continue
        on_part(part, number, len(parts))
        decided = decide_part(database, part, [plan])
        write_assignments(database, decided, table)
        result = decided.result()
        write_summary(summary, result)
        results.append(result)
    merged = merged_results(results)
    write_result_tables(database, merged, directory)
    join_assignments(database, tables, directory / "assignments.parquet")
    shutil.rmtree(finished)
    return merged


def write_summary(path: Path, result: PartResult) -> None:
    """Write the outcomes of one file; whole or not at all.

    Raises:
        OSError: with the path.
    """
    try:
        with whole_file(path) as beside:
            beside.write_text(json.dumps(result.to_jsonable()), encoding="utf-8")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def only_run(directory: Path) -> Iterator[None]:
    """Keep other runs away from a directory: tables of two would mix. Windows locks no directories.

    Raises:
        OSError: another run writes to it.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    descriptor = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "another run writes its results there; wait for its end, or give another directory"
            raise OSError(errno.EWOULDBLOCK, message, str(directory)) from None
        except OSError as error:  # some network file systems do not lock directories
            if error.errno not in (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                raise
        yield
    finally:
        os.close(descriptor)
