"""Fleets on several machines: a task for each file, on workers that somebody else schedules."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from etconfig.base.version import __version__
from etconfig.base.written_files import directory_beside
from etconfig.errors import WorkersError
from etconfig.fleet.deciding.recipe import PlanRecipe
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import InventoryReading, InventorySource
from etconfig.fleet.running.moved_devices import FleetDifference, merged_differences, write_moved
from etconfig.fleet.running.part_result import PartResult, merged_results
from etconfig.fleet.running.resumable_run import run_by_file
from etconfig.fleet.running.worker_tasks import compare_devices, count_devices

FileTask: TypeAlias = "dict[str, Any]"
"""A file as plain data: `number`, `path`, `label`, `table`, and `target`, the file to write, or None."""

OnFile: TypeAlias = "Callable[[str, int, int], None]"
"""Called after each file, with its name, the number of finished files and of all files."""


class FleetWorkers(Protocol):
    """Workers on one or more machines, such as a `concurrent.futures.ProcessPoolExecutor`."""

    def map(
        self, function: Callable[[FileTask], dict[str, Any]], files: Sequence[FileTask], /
    ) -> Iterable[dict[str, Any]]:
        """Return the answers of the function for each file, in any order, at best as they are finished.

        Args:
            function: A `functools.partial` of a function of a module, with plain values.
            files: The files.

        Raises:
            WorkersError: the workers are lost, or one cannot do its part.
        """


def job_text(recipes: Sequence[PlanRecipe], reading: InventoryReading) -> str:
    """Return what travels to workers: plans and settings, as JSON."""
    data = {
        "version": __version__,
        "recipes": [each.to_jsonable() for each in recipes],
        "reading": reading.to_jsonable(),
    }
    return json.dumps(data, sort_keys=True)


def settings_text(recipes: Sequence[PlanRecipe], reading: InventoryReading) -> str:
    """Return a text that changes with all that results depend on, but the files."""
    data = {
        "version": __version__,
        "recipes": [each.to_jsonable() for each in recipes],
        "reading": [reading.id_column, sorted(reading.ignored)],
    }
    return json.dumps(data, sort_keys=True)


def summarize_on(
    workers: FleetWorkers, sources: Sequence[InventorySource], job: str, on_file: OnFile
) -> PartResult:
    """Return the outcomes of all devices, counted, as `summarize_fleet` does."""
    answers = _answers(workers, partial(count_devices, job), _tasks(sources), on_file)
    return merged_results(map(PartResult.from_jsonable, _in_order(answers, len(sources))))


def compare_on(
    workers: FleetWorkers,
    database: Database,
    sources: Sequence[InventorySource],
    job: str,
    on_file: OnFile,
    moved: Path | None = None,
) -> FleetDifference:
    """Count what differs between two plans, as `compare_fleet` does.

    Workers write their part of `moved` into a directory beside it.

    Raises:
        WorkersError: the workers are lost, one cannot do its part, or they do not share the directory.
        OSError: `moved` cannot be written.
    """
    if moved is None:
        return _differences(workers, job, _tasks(sources), on_file)
    with directory_beside(moved) as directory:
        tables = [directory / f"{number}.parquet" for number in range(len(sources))]
        found = _differences(workers, job, _tasks(sources, tables), on_file)
        for source, table in zip(sources, tables, strict=True):
            _check_arrived(source, table, "--devices a file in")
        write_moved(database, tables, moved)
    return found


def _differences(
    workers: FleetWorkers, job: str, tasks: Sequence[FileTask], on_file: OnFile
) -> FleetDifference:
    answers = _answers(workers, partial(compare_devices, job), tasks, on_file)
    return merged_differences(map(FleetDifference.from_jsonable, _in_order(answers, len(tasks))))


def _check_arrived(source: InventorySource, table: Path, option: str) -> None:
    """Check that a table is here which a worker has written.

    Raises:
        WorkersError: it is not.
    """
    if not table.exists():
        raise WorkersError(
            problem=f"a worker wrote the devices of {source.label} to {table.parent}, and they are not there",
            help=f"give {option} a directory that all workers share",
        )


def resolve_on(
    workers: FleetWorkers,
    database: Database,
    sources: Sequence[InventorySource],
    job: str,
    directory: Path,
    settings: str,
    on_file: OnFile,
) -> PartResult:
    """Write what every device gets into a directory that all workers share, as `resolve_fleet` does.

    Files that an interrupted run with the same settings has finished are not resolved again.

    Raises:
        WorkersError: the workers are lost, one cannot do its part, or they do not share the directory.
        OSError: the results cannot be written, or another run writes to the directory.
    """
    function = partial(count_devices, job)

    def resolved(tables: Mapping[int, Path]) -> Iterator[tuple[int, PartResult]]:
        places = list(tables)
        tasks = _tasks([sources[place] for place in places], list(tables.values()))
        for number, answer in _answers(workers, function, tasks, on_file):
            place = places[number]
            _check_arrived(sources[place], tables[place], "--output")
            yield place, PartResult.from_jsonable(answer)

    return run_by_file(database, [each.identity for each in sources], settings, directory, resolved)


def _tasks(sources: Sequence[InventorySource], targets: Sequence[Path] = ()) -> list[FileTask]:
    return [
        {
            "number": number,
            "path": os.path.abspath(source.path),  # noqa: PTH100  (links stay, as they are on other machines)
            "label": source.label,
            "table": source.table,
            "target": os.path.abspath(targets[number]) if targets else None,  # noqa: PTH100
        }
        for number, source in enumerate(sources)
    ]


def _answers(
    workers: FleetWorkers,
    function: Callable[[FileTask], dict[str, Any]],
    tasks: Sequence[FileTask],
    on_file: OnFile,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each file with its answer; one that comes again, after a retry, is left out.

    Raises:
        WorkersError: some files get no answer, or an answer is not one of the function.
    """
    missing = dict(enumerate(tasks))
    for answer in (workers.map(function, tasks) or ()) if tasks else ():
        number: object = answer.get("number") if isinstance(answer, Mapping) else None
        if not (isinstance(number, int) and 0 <= number < len(tasks) and isinstance(answer["found"], dict)):
            raise _wrong_map("something else than the function's answer")
        task = missing.pop(number, None)
        if task is not None:
            on_file(task["label"], len(tasks) - len(missing), len(tasks))
            yield number, answer["found"]
    for task in missing.values():
        raise _wrong_map(f"nothing for {task['label']}")


def _wrong_map(returned: str) -> WorkersError:
    return WorkersError(
        problem=f"the workers returned {returned}",
        help="check that their `map` returns what the function returns for each file",
    )


def _in_order(answers: Iterator[tuple[int, Mapping[str, Any]]], count: int) -> Iterator[dict[str, Any]]:
    found = dict(answers)
    return (dict(found[place]) for place in range(count))
