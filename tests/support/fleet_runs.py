"""Fleets that are resolved twice: in one process, and on a cluster."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import duckdb
from doomed_worker import wait_or_count
from fleet_devices import random_devices, write_devices, write_profiles

from etconfig.cli.shared.command_options import make_installation
from etconfig.cli.shared.fleet_requests import PlanRequest
from etconfig.fleet.inventory.inventory import InventoryReading, InventorySource, find_sources
from etconfig.fleet.running.workers import FleetWorkers, job_text

RUN = ("fleet/*.parquet", "--program", "model.pte")
"""The arguments of commands for the fleet of `write_fleet`."""

IMPORTING = {"PYTHONPATH": str(Path(__file__).parent)}
"""The variables with which workers find the functions of tests."""


def write_fleet(place: Path) -> Path:
    """Write 400 devices in four files, profiles and a project file."""
    devices = random_devices(Random(2), 400)
    (place / "fleet").mkdir()
    for n in range(4):
        path = place / "fleet" / f"{n}.parquet"
        write_devices(duckdb.connect(), path, devices[100 * n : 100 * n + 100], start=100 * n)
    write_profiles(place / "profiles")
    (place / "etconfig.toml").write_text(
        'profile_path = ["profiles"]\n\n[options.ReferenceCpuBackend]\nnum_threads = 3\n'
    )
    return place


def rows_of(directory: Path) -> list[list[tuple[Any, ...]]]:
    """The rows of the tables in a directory of results."""
    return [
        duckdb.connect().execute(f"SELECT * FROM '{directory}/{name}.parquet' ORDER BY ALL").fetchall()
        for name in ("assignments", "resolutions", "problems")
    ]


def job_of_coverage() -> tuple[str, tuple[InventorySource, ...]]:
    """The job of `etconfig fleet coverage` for that fleet, and its files."""
    request = PlanRequest(
        programs=[Path("model.pte")],
        models=None,
        profile=None,
        require_match=False,
        fact_texts=(),
        overrides=(),
        profile_paths=(),
    )
    recipe = request.planned(make_installation()).recipe()
    return job_text([recipe], InventoryReading()), find_sources(["fleet/*.parquet"])


def no_progress(label: str, number: int, count: int) -> None:
    assert number <= count


class Doomed:
    """Workers of which one waits with its first file, until `lose` is called with its process."""

    def __init__(self, workers: FleetWorkers, directory: Path) -> None:
        self._workers = workers
        self._directory = directory

    def map(self, function: Any, files: Any) -> Iterator[dict[str, Any]]:
        marker = self._directory / "running"
        doomed = partial(wait_or_count, str(self._directory), *function.args)
        for number, answer in enumerate(self._workers.map(doomed, files)):
            if number == 0:
                while not (marker.exists() and marker.read_text()):
                    time.sleep(0.01)
                self.lose(int(marker.read_text()))
            yield answer

    def lose(self, process: int) -> None:
        os.kill(process, signal.SIGKILL)
