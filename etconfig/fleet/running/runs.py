"""`FleetRuns`: runs over all devices of a fleet, in this process or on workers, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from etconfig.base.records import record
from etconfig.base.written_files import FilesOfRun
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.deciding.recipe import PlanRecipe
from etconfig.fleet.inventory.database import Database, OnProgress
from etconfig.fleet.inventory.inventory import InventoryPart, InventoryReading, InventorySource
from etconfig.fleet.running.clusters import AnyWorkers, connected
from etconfig.fleet.running.moved_devices import FleetDifference, compare_fleet
from etconfig.fleet.running.part_decision import DecidedGroups, decide_part
from etconfig.fleet.running.part_result import PartResult
from etconfig.fleet.running.result_tables import RESULT_TABLES, check_result_tables, table_kind
from etconfig.fleet.running.resumable_run import OnPart, resolve_fleet, summarize_fleet
from etconfig.fleet.running.workers import (
    OnFile,
    compare_on,
    job_text,
    resolve_on,
    settings_text,
    summarize_on,
)


@record(frozen=True, kw_only=True)
class PlannedRun:
    """A plan with the way to describe it to other machines.

    Attributes:
        plan: Decides about the devices.
        recipe: Returns the recipe of the plan; it is called only if that is needed.
    """

    plan: FleetPlan
    recipe: Callable[[], PlanRecipe]


def _no_progress(file: object, number: int, count: int) -> None:
    pass


class FleetRuns:
    """Runs over all devices of inventories.

    Args:
        sources: The files.
        reading: How to read them.
        workers: Workers, or the address of a cluster; None for this process.
        on_part: Called before each file, in this process.
        on_file: Called after each file, on workers.
        on_progress: Called while a query runs in this process.
    """

    def __init__(
        self,
        sources: Sequence[InventorySource],
        reading: InventoryReading,
        workers: AnyWorkers | None,
        *,
        on_part: OnPart = _no_progress,
        on_file: OnFile = _no_progress,
        on_progress: OnProgress | None = None,
    ) -> None:
        self._sources = sources
        self._reading = reading
        self._workers = workers
        self._on_part = on_part
        self._on_file = on_file
        self._on_progress = on_progress

    def summarize(self, planned: PlannedRun) -> PartResult:
        """Return the outcomes of all devices, counted.

        Raises:
            FactError: the columns of a file are wrong.
            WorkersError: the workers cannot be reached, are lost, or cannot do their part.
            OSError: a file cannot be read, or the memory does not suffice.
        """
        if self._workers is None:
            with self.database() as database:
                parts = self._parts(database, planned)
                return summarize_fleet(database, parts, planned.plan, self._on_part)
        job = job_text([planned.recipe()], self._reading)
        with connected(self._workers) as workers:
            return summarize_on(workers, self._sources, job, self._on_file)

    def resolve(self, planned: PlannedRun, directory: Path, files: FilesOfRun) -> PartResult:
        """Write what every device gets into a directory, which workers share.

        Args:
            planned: Decides about the devices.
            directory: The directory; a run that was interrupted continues there.
            files: The files of the run; tables there that no run has written are replaced by force.

        Raises:
            RefusedFileError: there is such a table, or one that is read.
            FactError, WorkersError: as for `summarize`.
            OSError: a file cannot be read or written, or another run writes to the directory.
        """
        with self.database() as database:
            files.reads(self.files_read())
            check_result_tables(database, directory, files)
            recipes = [planned.recipe()]
            settings = settings_text(recipes, self._reading)
            if self._workers is None:
                parts = self._parts(database, planned)
                result = resolve_fleet(database, parts, planned.plan, directory, settings, self._on_part)
            else:
                job = job_text(recipes, self._reading)
                with connected(self._workers) as workers:
                    result = resolve_on(
                        workers, database, self._sources, job, directory, settings, self._on_file
                    )
            for name in RESULT_TABLES:
                files.wrote(directory / name)
            return result

    def files_read(self) -> Iterator[Path]:
        """Yield the files of the inventories, and the sheets of a directory."""
        for source in self._sources:
            yield from source.files

    def compare(
        self, old: PlannedRun, new: PlannedRun, files: FilesOfRun, moved: Path | None = None
    ) -> FleetDifference:
        """Count what differs between two plans.

        Args:
            old: Decides before a change.
            new: Decides after it.
            files: The files of the run.
            moved: A Parquet file to write, with a row for each change of each device, in a directory that
                workers share; None for none.

        Raises:
            FactError, WorkersError: as for `summarize`.
            RefusedFileError: `moved` is a file that is read, or that no run has written.
            OSError: a file cannot be read or written.
        """
        if moved is not None:
            files.reads(self.files_read())
            with self.database() as database:
                files.claim(moved, table_kind(database))
        if self._workers is None:
            with self.database() as database:
                parts = self._parts(database, old)
                return compare_fleet(database, parts, old.plan, new.plan, self._on_part, moved)
        job = job_text([old.recipe(), new.recipe()], self._reading)
        with self.database() as database, connected(self._workers) as workers:
            return compare_on(workers, database, self._sources, job, self._on_file, moved)

    def decided(self, planned: PlannedRun) -> Iterator[DecidedGroups]:
        """Decide about the devices of each file, in this process.

        Raises:
            FactError: the columns of a file are wrong.
            OSError: a file cannot be read, or the memory does not suffice.
        """
        with self.database() as database:
            parts = self._parts(database, planned)
            for number, part in enumerate(parts, 1):
                self._on_part(part, number, len(parts))
                yield decide_part(database, part, [planned.plan])

    def database(self) -> AbstractContextManager[Database]:
        """Open a database.

        Raises:
            OSError: a file cannot be read or written, or the memory does not suffice.
        """
        return self._reading.database(self._on_progress)

    def _parts(self, database: Database, planned: PlannedRun) -> list[InventoryPart]:
        opener = self._reading.opener(database, planned.plan.installation.fact_registry)
        return list(opener.open_all(self._sources))
