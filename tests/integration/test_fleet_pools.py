"""Fleets on pools of processes that are not ours: anything with `map(function, files)`."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

from fleet_runs import rows_of, write_fleet

import etconfig
from etconfig.errors import FactError
from etconfig.fleet import FleetWorkers, open_fleet

pytestmark = [pytest.mark.weekly, pytest.mark.timeout(400)]


def executor() -> AbstractContextManager[FleetWorkers]:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def pool_of_processes() -> AbstractContextManager[FleetWorkers]:
    return multiprocessing.get_context("spawn").Pool(2)


def pool_of_ray() -> AbstractContextManager[FleetWorkers]:
    pool = pytest.importorskip("ray.util.multiprocessing", reason="needs Ray")
    found: AbstractContextManager[FleetWorkers] = pool.Pool(2)
    return found


@pytest.mark.parametrize("pool", [executor, pool_of_processes, pool_of_ray])
def test_a_pool_of_processes_gives_what_one_process_gives(
    place: Path, pool: Callable[[], AbstractContextManager[FleetWorkers]]
) -> None:
    write_fleet(place)
    program = etconfig.load_program("model.pte")
    open_fleet("fleet/*.parquet").resolve(program, output="here")
    with pool() as workers:
        open_fleet("fleet/*.parquet", workers=workers).resolve(program, output="there")
        assert rows_of(place / "there") == rows_of(place / "here")
        (place / "fleet" / "2.parquet").write_bytes(b"PAR1 and nothing")
        with pytest.raises(FactError, match=r"cannot read fleet/2\.parquet"):
            open_fleet("fleet/*.parquet", workers=workers).resolve(program)
