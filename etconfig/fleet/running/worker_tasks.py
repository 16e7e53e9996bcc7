"""The functions that workers call: each decides about the devices of one file, from plain data alone."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from etconfig.base.version import __version__
from etconfig.errors import WorkersError
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.deciding.recipe import PlanRecipe, different_surroundings, recipe_hash, surroundings_of
from etconfig.fleet.inventory.database import Database, is_installed
from etconfig.fleet.inventory.inventory import InventoryPart, InventoryReading, InventorySource
from etconfig.fleet.running.moved_devices import compare_groups, write_moved_part
from etconfig.fleet.running.part_decision import decide_part
from etconfig.fleet.running.result_tables import write_assignments

_MAX_JOBS = 4
"""The most jobs that a thread of a worker remembers."""

_known = threading.local()


class WorkerJob:
    """A job as a worker remembers it: plans, and the directory of their profiles.

    Attributes:
        plans: The plans.
        reading: How to read inventories.
        shown_paths: The paths of its profiles, with their paths in reports.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        if data["version"] != __version__:
            raise WorkersError(
                problem=f"etconfig is {__version__} on worker {_name()}, and {data['version']} here",
                help="install one version everywhere",
            )
        if not is_installed():
            raise WorkersError(
                problem=f"DuckDB is missing on worker {_name()}", help="install etconfig[fleet] there"
            )
        self.reading = InventoryReading.from_jsonable(data["reading"])
        scratch = mkdtemp(prefix="etconfig-worker-")
        self.close = weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
        """Removes the directory of the profiles, at the latest at the end of the thread."""
        self.plans: list[FleetPlan] = []
        self.shown_paths: list[tuple[str, str]] = []
        for number, each in enumerate(data["recipes"]):
            recipe = PlanRecipe.from_jsonable(each)
            directory = Path(scratch, str(number))
            found = surroundings_of(recipe.installation(directory))
            wrong = list(different_surroundings(recipe.surroundings, found))
            if wrong:
                raise WorkersError(
                    problem=f"worker {_name()} would resolve otherwise: {'; '.join(wrong)}",
                    help="install the same everywhere",
                )
            self.plans.append(recipe.plan(directory))
            self.shown_paths += recipe.shown_paths(directory)

    def as_shown(self, data: Any) -> Any:
        """Return plain data with the paths that reports show."""
        if isinstance(data, str):
            for path, shown in self.shown_paths:
                data = data.replace(path, shown)
            return data
        if isinstance(data, Mapping):
            return {key: self.as_shown(value) for key, value in data.items()}
        return [self.as_shown(each) for each in data] if isinstance(data, Sequence) else data


def _name() -> str:
    return socket.gethostname()


def _job(text: str) -> WorkerJob:
    """Return a job; plans remember what they decided, so that each thread has its own."""
    jobs: dict[str, WorkerJob] = vars(_known).setdefault("jobs", {})
    key = recipe_hash(text)
    if key not in jobs:
        while len(jobs) >= _MAX_JOBS:
            jobs.pop(next(iter(jobs))).close()
        jobs[key] = WorkerJob(json.loads(text))
    return jobs[key]


@contextmanager
def _database(job: WorkerJob, task: Mapping[str, Any]) -> Iterator[Database]:
    """Open the database for a file.

    Raises:
        WorkersError: a file cannot be read or written here, or the memory does not suffice.
    """
    try:
        with job.reading.database() as database:
            yield database
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        reason = f"{place}{error.strerror or error}"
        raise WorkersError(problem=f"worker {_name()} failed on {task['label']}: {reason}") from error


def _opened(database: Database, job: WorkerJob, task: Mapping[str, Any]) -> InventoryPart:
    path = Path(task["path"])
    if not path.exists():
        raise WorkersError(
            problem=f"there is no file {task['label']} on worker {_name()}, looked for as {path}",
            help="put inventories on a file system that all workers share",
        )
    source = InventorySource(path=path, label=task["label"], table=task["table"])
    opener = job.reading.opener(database, job.plans[0].installation.fact_registry)
    (part,) = opener.open_all([source])
    return part


def count_devices(text: str, task: Mapping[str, Any]) -> dict[str, Any]:
    """Decide about the devices of one file, and return its `number` with the outcomes, counted, as `found`.

    Args:
        text: The job.
        task: The file: its `number`, `path`, `label` and `table`; and `target`, where to write a row for each
            device, or None.

    Raises:
        WorkersError: the file is missing here or cannot be read, results cannot be written, or etconfig or
            its plugins are not the same here.
        FactError: the columns of the file are wrong.
    """
    job = _job(text)
    with _database(job, task) as database:
        decided = decide_part(database, _opened(database, job, task), job.plans[:1])
        if task["target"] is not None:
            write_assignments(database, decided, job.plans[0], Path(task["target"]))
        return {"number": task["number"], "found": job.as_shown(decided.result().to_jsonable())}


def compare_devices(text: str, task: Mapping[str, Any]) -> dict[str, Any]:
    """Decide about the devices of one file by two plans, and return its `number` with the changes, counted.

    Args:
        text: The job.
        task: The file, as for `count_devices`; `target` is where to write a row for each change of each
            device, or None.

    Raises:
        WorkersError, FactError: as for `count_devices`.
    """
    job = _job(text)
    with _database(job, task) as database:
        decided = decide_part(database, _opened(database, job, task), job.plans)
        if task["target"] is not None:
            write_moved_part(database, decided, Path(task["target"]), job.as_shown)
        found = job.as_shown(compare_groups(decided).to_jsonable(with_ids=True))
        return {"number": task["number"], "found": found}
