"""Requests that the options of `etconfig fleet` make: inventories, how to read them, and what is resolved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.app.installation.installation import Installation
from etconfig.base.records import record
from etconfig.base.written_files import RefusedFileError
from etconfig.cli.shared.output import note, show_done, shows_progress
from etconfig.cli.shared.writing import note_reads, refused_write
from etconfig.report.model import count_text

if TYPE_CHECKING:
    from etconfig.app.configuring.targets import Delegating
    from etconfig.facts.registry import FactRegistry
    from etconfig.fleet.deciding.plan import FleetPlan
    from etconfig.fleet.inventory.database import Database
    from etconfig.fleet.inventory.inventory import InventoryPart
    from etconfig.fleet.running.runs import FleetRuns, PlannedRun


def show_part(part: InventoryPart, number: int, count: int) -> None:
    """Show the progress on a terminal."""
    if shows_progress():
        show_done(None)
        note(f"{number}/{count} {part.source.label}: {count_text(part.rows, 'device')}")


def show_file(label: str, number: int, count: int) -> None:
    """Show the progress of workers on a terminal."""
    if shows_progress():
        note(f"{number}/{count} {label}")


@contextmanager
def file_errors() -> Iterator[None]:
    """Report what is wrong with a file.

    Raises:
        click.ClickException: a file cannot be read or written, or the memory does not suffice.
    """
    try:
        yield
    except RefusedFileError as error:
        raise click.ClickException(refused_write(error)) from error
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        raise click.ClickException(f"{place}{error.strerror or error}") from error


@record(frozen=True, kw_only=True)
class InventoryRequest:
    """The inventories of a command, and how to read them."""

    inventories: Sequence[str]
    id_column: str | None
    table: str | None
    ignored: Sequence[str]
    cache: Path | None
    memory: str
    threads: int | None

    @contextmanager
    def database(self) -> Iterator[Database]:
        """Open the database.

        Raises:
            click.ClickException: a file cannot be read or written, or the memory does not suffice.
        """
        from etconfig.fleet.inventory.database import followed, opened_database

        on_progress = show_done if shows_progress() else None
        with (
            file_errors(),
            opened_database(self.memory, self.threads) as database,
            database.reading(),
            followed(database, on_progress),
        ):
            yield database

    def runs(self, place: str | None) -> FleetRuns:
        """Find the files of all inventories, and return the runs over them, here or on a cluster.

        Raises:
            FactError: some inventories name no file, or one of another kind.
        """
        from etconfig.fleet.inventory.inventory import find_sources
        from etconfig.fleet.running.runs import FleetRuns
        from etconfig.fleet.running.workers import InventoryReading

        reading = InventoryReading(
            id_column=self.id_column,
            ignored=self.ignored,
            cache=self.cache,
            memory=self.memory,
            threads=self.threads,
        )
        sources = find_sources(self.inventories, self.table)
        runs = FleetRuns(
            sources,
            reading,
            place,
            on_part=show_part,
            on_file=show_file,
            on_progress=show_done if shows_progress() else None,
        )
        note_reads(runs.files_read())
        return runs

    def with_inventories(self, inventories: Sequence[str]) -> InventoryRequest:
        """Return the same with other inventories."""
        return replace(self, inventories=inventories)

    def parts(self, database: Database, registry: FactRegistry) -> list[InventoryPart]:
        """Open all inventories.

        Raises:
            FactError: with the problems of all.
        """
        from etconfig.fleet.inventory.inventory import InventoryOpener, find_sources

        opener = InventoryOpener(
            database, registry, id_column=self.id_column, ignored=self.ignored, cache=self.cache
        )
        sources = find_sources(self.inventories, self.table)
        note_reads(path for source in sources for path in source.files)
        return list(opener.open_all(sources))


@record(frozen=True, kw_only=True)
class PlanRequest:
    """Programs, models, the profile and settings by hand: all that is resolved on every device."""

    programs: Sequence[Path]
    models: Path | None
    profile: str | None
    require_match: bool
    fact_texts: Sequence[str]
    overrides: Sequence[str]
    profile_paths: Sequence[Path]

    def planned(self, installation: Installation) -> PlannedRun:
        """Compile what decides.

        Raises:
            ConfigError: a profile or another setting is wrong.
        """
        from etconfig.fleet.deciding.recipe import PlanRecipe, make_plan
        from etconfig.fleet.running.runs import PlannedRun

        programs, settings = self._programs(installation), self._settings()
        plan = make_plan(installation, programs, **settings)
        return PlannedRun(plan=plan, recipe=lambda: PlanRecipe.of(plan, programs, **settings))

    def plan(self, installation: Installation) -> FleetPlan:
        """Compile what decides, for use in this process."""
        return self.planned(installation).plan

    def _programs(self, installation: Installation) -> list[Delegating]:
        from etconfig.app.programs.api import load_program
        from etconfig.app.programs.executors import NUMPY

        found: list[Delegating] = [
            load_program(path, executor=NUMPY, installation=installation) for path in self.programs
        ]
        if self.models is not None:
            from etconfig.app.configuring.engine_models import Models

            found.append(Models.read(self.models, installation))
        return found

    def _settings(self) -> dict[str, Any]:
        return {
            "profile": self.profile,
            "require_match": self.require_match,
            "fact_overrides": list(self.fact_texts),
            "overrides": list(self.overrides),
        }
