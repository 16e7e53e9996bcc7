"""`Fleet`: the devices of inventories, for Python; `open_fleet` opens them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from etconfig.app.configuring.targets import Delegating, find_installation
from etconfig.app.installation.installation import Installation
from etconfig.base.option_path import parse_option_path
from etconfig.base.packages import how_to_install
from etconfig.base.parameters import AnyPath, as_path, check_type, plain_value
from etconfig.base.written_files import FilesOfRun
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.deciding.recipe import PlanRecipe, make_plan
from etconfig.fleet.inventory.database import DEFAULT_MEMORY, is_installed
from etconfig.fleet.inventory.inventory import InventoryReading, find_sources
from etconfig.fleet.running.clusters import AnyWorkers
from etconfig.fleet.running.moved_devices import FleetDifference
from etconfig.fleet.running.part_result import PartResult
from etconfig.fleet.running.reports import coverage_data, option_histogram
from etconfig.fleet.running.runs import FleetRuns, PlannedRun
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, part_text


def open_fleet(
    inventories: AnyPath | Iterable[AnyPath],
    *,
    workers: AnyWorkers | None = None,
    id_column: str | None = None,
    table: str | None = None,
    ignored: Iterable[str] = (),
    cache: AnyPath | None = None,
    memory: str = DEFAULT_MEMORY,
    threads: int | None = None,
) -> Fleet:
    """Open inventories: Parquet or JSONL files, DuckDB tables, directories of sheets, or patterns.

    Args:
        inventories: The inventories, as `etconfig fleet` takes them.
        workers: A client of Dask, the address of its scheduler, such as `dask://host:8786`, or a pool with
            `map(function, files)`, such as a `ProcessPoolExecutor`; None for this process.
        id_column: The column that names devices; by default `device_id`.
        table: The table of a DuckDB database; by default its only one.
        ignored: Columns to leave out.
        cache: Where to keep converted JSON; by default `.etconfig-fleet` beside each inventory.
        memory: Memory for DuckDB, on a cluster for each file; beyond it, it writes to the disk.
        threads: Threads; by default one for each core, and on a cluster one for each file.

    Raises:
        FactError: some inventories name no file, or a file of another kind.
        ImportError: DuckDB is not installed.
        TypeError: an argument is of a wrong type.
    """
    if not is_installed():
        install = how_to_install("'etconfig[fleet]'")
        raise ImportError(f"a fleet needs DuckDB, which is not installed: {install}")
    given = (inventories,) if isinstance(inventories, (str, os.PathLike)) else inventories
    check_type("inventories", given, Iterable, "paths or patterns")
    reading = InventoryReading(
        id_column=id_column,
        ignored=tuple(ignored),
        cache=None if cache is None else as_path("cache", cache),
        memory=memory,
        threads=threads,
    )
    return Fleet([str(as_path("inventories", each)) for each in given], table, reading, workers)


class FleetResult(HasView):
    """The options that the devices of a fleet get, counted; from `Fleet.resolve`."""

    def __init__(self, counted: PartResult, plan: FleetPlan) -> None:
        self._counted = counted
        self._plan = plan

    @property
    def devices(self) -> int:
        """The number of devices."""
        return self._counted.devices

    @property
    def resolved(self) -> int:
        """The number of devices that get options."""
        return self._counted.resolved

    @property
    def profiles(self) -> Mapping[str, int]:
        """The number of devices that get each profile, by its name."""
        return dict(self._counted.profiles)

    def histogram(self, option: str) -> Mapping[str, Mapping[str, int]]:
        """Return how many devices get each value of an option, as JSON text, by the whole path.

        Args:
            option: `[METHOD[@INSTANCE]:]BACKEND.OPTION`.

        Raises:
            ValueError: it is not the path of an option.
        """
        found = option_histogram(self._counted, parse_option_path(option))
        return {path: dict(values) for path, values in found.items()}

    def to_jsonable(self) -> dict[str, Any]:
        """Return the coverage, as `etconfig fleet coverage --json` prints it."""
        return coverage_data(self._counted, self._plan)

    def _view(self) -> View:
        found = part_text(self.resolved, self.devices, "device", "get")
        table = Table(headers=("PROFILE", "DEVICES"), rows=[*self.profiles.items()])
        return View(title=f"{found} options", tables=(table,))


class Fleet:
    """The devices of inventories; from `open_fleet`."""

    def __init__(
        self, inventories: list[str], table: str | None, reading: InventoryReading, workers: AnyWorkers | None
    ) -> None:
        self._runs = FleetRuns(find_sources(inventories, table), reading, workers)

    def resolve(
        self,
        programs: Delegating | Iterable[Delegating] = (),
        *,
        output: AnyPath | None = None,
        force: bool = False,
        profile: AnyPath | None = None,
        require_match: bool = False,
        fact_overrides: Mapping[str, object] | None = None,
        overrides: Mapping[str, object] | None = None,
        installation: Installation | None = None,
    ) -> FleetResult:
        """Resolve for every device, and count what they get.

        Args:
            programs: The program or programs that the options are for; without one, the programs that
                `configure` uses by default.
            output: A directory for the tables of assignments, resolutions and problems; a run that was
                interrupted continues there. None to count only.
            force: Replace tables there that `etconfig fleet resolve` has not written, too.
            profile: One profile for all devices; by default the project file's, else `auto`.
            require_match: Refuse `generic/any` if `auto` finds no other profile for a device.
            fact_overrides: Facts set by hand on every device, as plain values.
            overrides: Options that win over all others, as plain values by path.
            installation: Plugins, profiles and project file; by default the program's, else those found from
                the current directory.

        Raises:
            ConfigError: a profile, a setting or a column is wrong.
            WorkersError: the workers cannot be reached, are lost, or cannot do their part.
            FileExistsError: a table there is one that is read, or not one that `etconfig fleet` has written.
            OSError: a file cannot be read or written, or the memory does not suffice.
            TypeError: an argument is of a wrong type.
        """
        check_type("force", force, bool, "True or False")
        directory = None if output is None else as_path("output", output)
        given = _programs(programs)
        settings = _settings(profile, require_match, fact_overrides, overrides)
        planned = _planned(find_installation(installation, *given[:1]), given, settings)
        if directory is None:
            return FleetResult(self._runs.summarize(planned), planned.plan)
        return FleetResult(self._runs.resolve(planned, directory, FilesOfRun(force=force)), planned.plan)

    def compare(
        self,
        old: Installation,
        new: Installation,
        programs: Delegating | Iterable[Delegating] = (),
        *,
        devices: AnyPath | None = None,
        profile: AnyPath | None = None,
        require_match: bool = False,
        fact_overrides: Mapping[str, object] | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> FleetDifference:
        """Resolve for every device with two installations, such as two trees of profiles; count what differs.

        Args:
            old: The plugins, profiles and project file before a change.
            new: Those after it.
            programs: As for `resolve`.
            devices: A Parquet file to write, with a row for each change of each device: `device_id`,
                `option`, `old`, `new`. None for none.
            profile: As for `resolve`.
            require_match: As for `resolve`.
            fact_overrides: As for `resolve`.
            overrides: As for `resolve`.

        Raises:
            FileExistsError: `devices` is a file that is read, or not one that `etconfig fleet` has written.
            ConfigError, WorkersError, OSError, TypeError: as for `resolve`.
        """
        given = _programs(programs)
        settings = _settings(profile, require_match, fact_overrides, overrides)
        before, after = (_planned(find_installation(side), given, settings) for side in (old, new))
        moved = None if devices is None else as_path("devices", devices)
        return self._runs.compare(before, after, FilesOfRun(), moved)


def _planned(
    installation: Installation, programs: Sequence[Delegating], settings: Mapping[str, Any]
) -> PlannedRun:
    plan = make_plan(installation, programs, **settings)
    return PlannedRun(plan=plan, recipe=lambda: PlanRecipe.of(plan, programs, **settings))


def _programs(programs: Delegating | Iterable[Delegating]) -> tuple[Delegating, ...]:
    if isinstance(programs, Delegating):
        return (programs,)
    check_type("programs", programs, Iterable, "what etconfig.load_program returns, or several of that")
    return tuple(programs)


def _settings(
    profile: AnyPath | None,
    require_match: bool,
    fact_overrides: Mapping[str, object] | None,
    overrides: Mapping[str, object] | None,
) -> dict[str, Any]:
    check_type("require_match", require_match, bool, "True or False")
    return {
        "profile": None if profile is None else str(as_path("profile", profile)),
        "require_match": require_match,
        "fact_overrides": _plain("fact_overrides", fact_overrides),
        "overrides": _plain("overrides", overrides),
    }


def _plain(argument: str, values: Mapping[str, object] | None) -> Mapping[str, object]:
    """Return values that are set by hand as plain data, which can travel.

    Raises:
        TypeError: they are not plain values by name.
    """
    check_type(argument, values or {}, Mapping, "plain values by name")
    try:
        return dict(json.loads(json.dumps(dict(values or {}), default=plain_value, allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{argument}: expected plain values by name: {error}") from error
