"""Options of `etconfig fleet`, and the requests that they make: inventories, and what is resolved."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.app.installation.installation import Installation
from etconfig.base.packages import how_to_install
from etconfig.base.records import record
from etconfig.base.written_files import RefusedFileError
from etconfig.cli.shared.command_options import (
    Share,
    count_from,
    models_option,
    profile_path_option,
    programs_option,
    require_match_option,
)
from etconfig.cli.shared.completion import complete_profile
from etconfig.cli.shared.output import note, show_done, shows_progress
from etconfig.cli.shared.requests import note_project, open_targets, taken_values
from etconfig.cli.shared.writing import OutputPath, note_reads, refused_write
from etconfig.report.model import count_text

if TYPE_CHECKING:
    from etconfig.app.configuring.project_tests import CheckedTests
    from etconfig.facts.registry import FactRegistry
    from etconfig.fleet.deciding.plan import FleetPlan
    from etconfig.fleet.inventory.database import Database
    from etconfig.fleet.inventory.inventory import InventoryPart, InventoryReading
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
    table: str | None
    reading: InventoryReading

    @contextmanager
    def database(self) -> Iterator[Database]:
        """Open the database.

        Raises:
            click.ClickException: a file cannot be read or written, or the memory does not suffice.
        """
        on_progress = show_done if shows_progress() else None
        with file_errors(), self.reading.database(on_progress) as database:
            yield database

    def runs(self, place: str | None) -> FleetRuns:
        """Find the files of all inventories, and return the runs over them, here or on a cluster.

        Raises:
            FactError: some inventories name no file, or one of another kind.
        """
        from etconfig.fleet.inventory.inventory import find_sources
        from etconfig.fleet.running.runs import FleetRuns

        sources = find_sources(self.inventories, self.table)
        runs = FleetRuns(
            sources,
            self.reading,
            place,
            on_part=show_part,
            on_file=show_file,
            on_progress=show_done if shows_progress() else None,
        )
        note_reads(runs.files_read())
        return runs

    def parts(self, database: Database, registry: FactRegistry) -> list[InventoryPart]:
        """Open all inventories.

        Raises:
            FactError: with the problems of all.
        """
        from etconfig.fleet.inventory.inventory import find_sources

        sources = find_sources(self.inventories, self.table)
        note_reads(path for source in sources for path in source.files)
        return list(self.reading.opener(database, registry).open_all(sources))


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

    def planned(
        self,
        installation: Installation,
        *,
        with_memory: bool = False,
        tests: CheckedTests | None = None,
        with_variants: bool = False,
    ) -> PlannedRun:
        """Compile what decides; the estimates of memory, tests and variants do not travel to workers.

        Raises:
            ConfigError: a profile or another setting is wrong.
        """
        from etconfig.app.programs.variant_conditions import read_models
        from etconfig.fleet.deciding.recipe import PlanRecipe, make_plan
        from etconfig.fleet.running.runs import PlannedRun

        note_project(installation, self.profile)
        programs = [*open_targets(self.programs, self.models, installation).values()]
        settings = self._settings()
        variants = read_models(installation, self.models) if with_variants else ()
        plan = make_plan(
            installation, programs, **settings, with_memory=with_memory, tests=tests, variants=variants
        )
        return PlannedRun(plan=plan, recipe=lambda: PlanRecipe.of(plan, programs, **settings))

    def plan(self, installation: Installation) -> FleetPlan:
        """Compile what decides, for use in this process."""
        return self.planned(installation).plan

    def _settings(self) -> dict[str, Any]:
        return {
            "profile": self.profile,
            "require_match": self.require_match,
            "fact_overrides": list(self.fact_texts),
            "overrides": list(self.overrides),
        }


def _check_installed() -> None:
    """Check that DuckDB is installed.

    Raises:
        click.ClickException: it is not; with the command that installs it.
    """
    from etconfig.fleet.inventory.database import is_installed

    if not is_installed():
        install = how_to_install("'etconfig[fleet]'")
        raise click.ClickException(f"etconfig fleet needs DuckDB, which is not installed: {install}")
    atexit.unregister(gc.freeze)  # what it freezes, DuckDB's bindings would report as leaked


def _check_memory(context: click.Context, parameter: click.Parameter, text: str) -> str:
    """Refuse what is not an amount of memory."""
    number = text.rstrip("KMGTiBkb ")
    if not number.replace(".", "", 1).isdecimal() or number == text:
        raise click.BadParameter(
            f"{text!r} is not an amount of memory, such as 512MiB or 2GiB", context, parameter
        )
    return text


_INVENTORY_OPTIONS = (
    click.option(
        "--id", "id_column", metavar="COLUMN", help="The column that names devices; by default device_id."
    ),
    click.option("--table", metavar="NAME", help="The table of a DuckDB database; by default its only one."),
    click.option(
        "--ignore", "ignored", multiple=True, metavar="COLUMN", help="Leave a column out. Repeatable."
    ),
    click.option(
        "--cache",
        metavar="DIRECTORY",
        type=OutputPath(is_directory=True),
        help="Where to keep converted JSON; by default .etconfig-fleet beside each inventory.",
    ),
    click.option(
        "--memory",
        default="1GiB",
        show_default=True,
        metavar="SIZE",
        callback=_check_memory,
        help="Memory for DuckDB; beyond it, it writes to the disk.",
    ),
    click.option("--threads", type=count_from(1), help="Threads; by default one for each core."),
)


def inventory_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to read inventories; the command gets them as one `inventory`."""

    @wraps(function)
    def with_inventory(**parameters: Any) -> Any:
        _check_installed()
        from etconfig.fleet.inventory.inventory import InventoryReading

        reading = InventoryReading(**taken_values(InventoryReading, parameters))
        inventory = InventoryRequest(**taken_values(InventoryRequest, parameters), reading=reading)
        return function(inventory=inventory, **parameters)

    return _with_options(with_inventory, _INVENTORY_OPTIONS)


inventories_argument = click.argument("inventories", metavar="INVENTORY...", nargs=-1, required=True)


_PLAN_OPTIONS = (
    programs_option,
    models_option,
    click.option(
        "--profile",
        shell_complete=complete_profile,
        help="auto, or one profile for all devices; by default the project file's, else auto.",
    ),
    require_match_option,
    click.option(
        "--fact",
        "fact_texts",
        multiple=True,
        metavar="NAME=VALUE",
        help="Set a fact on every device. Repeatable.",
    ),
    click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="PATH=VALUE",
        help="Set an option on every device. Repeatable.",
    ),
    profile_path_option,
)


def plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is resolved; the command gets them as one `request`."""

    @wraps(function)
    def with_request(**parameters: Any) -> Any:
        return function(request=PlanRequest(**taken_values(PlanRequest, parameters)), **parameters)

    return _with_options(with_request, _PLAN_OPTIONS)


def _with_options(
    function: Callable[..., Any], options: Sequence[Callable[[Any], Any]]
) -> Callable[..., Any]:
    """Add options to a command, in their order."""
    for option in reversed(options):
        function = option(function)
    return function


def workers_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--on`; the command gets the address as `place`, or None."""
    return click.option(
        "--on",
        "place",
        metavar="ADDRESS",
        callback=_check_workers,
        help="Resolve on a cluster of Dask (etconfig[dask]), such as dask://host:8786.",
    )(function)


def _check_workers(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is None:
        return None
    from etconfig.fleet.running.clusters import parse_cluster_address

    try:
        address = parse_cluster_address(text)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    if address.missing is not None:
        raise click.ClickException(address.missing)
    return text


ids_option = click.option("--show-ids", is_flag=True, help="Show the names of devices in reports.")
coverage_option = click.option(
    "--require-coverage",
    "required",
    type=Share(),
    metavar="SHARE",
    help="Exit with 1 if fewer devices get options, such as 100%.",
)
