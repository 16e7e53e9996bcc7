"""A run over the files of a fleet, which can be interrupted and resumed by file."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from etconfig.base.written_files import RefusedFileError, is_temporary, replace_file
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import InventoryPart
from etconfig.fleet.running.part_decision import decide_part
from etconfig.fleet.running.part_result import PartResult, merged_results
from etconfig.fleet.running.result_tables import write_assignments, write_result_tables

PARTS = ".etconfig-parts"
"""The directory of finished files, inside the directory of the results; it is removed at the end."""


class RunInterruptedError(KeyboardInterrupt):
    """Ctrl-C ended a run that continues when it is started again.

    Attributes:
        finished: The number of finished files.
        files: The number of all files.
    """

    def __init__(self, finished: int, files: int) -> None:
        super().__init__(finished, files)
        self.finished = finished
        self.files = files


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

    def resolved(tables: Mapping[int, Path]) -> Iterator[tuple[int, PartResult]]:
        for place, table in tables.items():
            on_part(parts[place], place + 1, len(parts))
            decided = decide_part(database, parts[place], [plan])
            write_assignments(database, decided, plan, table)
            yield place, decided.result()

    return run_by_file(database, [part.source.identity for part in parts], settings, directory, resolved)


def run_by_file(
    database: Database,
    identities: Sequence[str],
    settings: str,
    directory: Path,
    resolved: Callable[[Mapping[int, Path]], Iterable[tuple[int, PartResult]]],
) -> PartResult:
    """Write the tables of a fleet into a directory; files that an earlier run has finished are not repeated.

    Args:
        database: The database.
        identities: For each file, a text that changes with it.
        settings: A text that changes with all that the results depend on, but the files.
        directory: The directory for the results.
        resolved: Writes the assignments of files, given by their places with the tables to write. It yields
            each place with the outcomes, as the files are finished.

    Raises:
        RunInterruptedError: the user interrupts it.
        OSError: the results cannot be written, or another run writes to the directory.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with _only_run(directory):
        finished = directory / PARTS
        if finished.is_symlink():
            raise RefusedFileError(finished, "it is a symbolic link; remove it", may_force=False)
        finished.mkdir(exist_ok=True)
        tables = [finished / f"{_hash(f'{identity} {settings}')}.parquet" for identity in identities]
        results = {place: found for place, table in enumerate(tables) if (found := _finished(table))}
        missing = {place: table for place, table in enumerate(tables) if place not in results}
        try:
            for place, result in resolved(missing):
                _write_summary(_summary(tables[place]), result)
                results[place] = result
        except KeyboardInterrupt:
            raise RunInterruptedError(len(results), len(tables)) from None
        merged = merged_results(results[place] for place in range(len(tables)))
        write_result_tables(database, merged, tables, directory)
        _remove_finished(finished)
        return merged


def _remove_finished(directory: Path) -> None:
    """Remove what runs have written into the directory of finished files, and it if nothing else is there."""
    for path in directory.iterdir():
        if is_temporary(path):
            shutil.rmtree(path, ignore_errors=True)
        elif _OWN_NAME.fullmatch(path.name):
            path.unlink()
    with suppress(OSError):
        directory.rmdir()


_OWN_NAME = re.compile(r"[0-9a-f]{24}\.(parquet|json)")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:24]


def _summary(table: Path) -> Path:
    return table.with_suffix(".json")


def _finished(table: Path) -> PartResult | None:
    """Return the outcomes of a file that an earlier run has finished, None if there is none."""
    if not (table.exists() and _summary(table).exists()):
        return None
    return PartResult.from_jsonable(json.loads(_summary(table).read_text(encoding="utf-8")))


def _write_summary(path: Path, result: PartResult) -> None:
    """Write the outcomes of one file; whole or not at all."""
    replace_file(path, json.dumps(result.to_jsonable()).encode())


@contextmanager
def _only_run(directory: Path) -> Iterator[None]:
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
