"""Rates of `etconfig fleet`, beside pure Python and pure pushdown, on generated devices.

    python benchmarks/bench_fleet.py --devices 1000000 --threads 1

Needs etconfig[dask] and etconfig-reference. The devices are the shipped sheets, drawn by Zipf's law,
with live facts drawn anew, 2 to 30 % of them unknown. Rates are devices per second of the process's CPU time,
and of the clock.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import etconfig
from etconfig.fleet.deciding.condition_sql import condition_sql
from etconfig.fleet.deciding.folding import folded
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.deciding.recipe import PlanRecipe
from etconfig.fleet.inventory.conversion import converted
from etconfig.fleet.inventory.database import Database, opened_database
from etconfig.fleet.inventory.inventory import (
    InventoryOpener,
    InventoryPart,
    InventorySource,
    file_identity,
    find_sources,
)
from etconfig.fleet.inventory.json_sql import convert_lines
from etconfig.fleet.inventory.sql_names import quoted_name
from etconfig.fleet.running.dask_workers import DaskWorkers
from etconfig.fleet.running.resumable_run import resolve_fleet, summarize_fleet
from etconfig.fleet.running.workers import InventoryReading, job_text, resolve_on, summarize_on

ROOT = Path(__file__).parents[1]
SHEETS = ROOT / "sheets"
PROGRAM = ROOT / "tests" / "data" / "digits" / "digits.pte"
LIVE = {
    "cpu.available_cores": ("CAST(1 + hash(i, 1) % 8 AS BIGINT)", 2),
    "power.source": ("CASE WHEN hash(i, 2) % 2 = 0 THEN 'mains' ELSE 'battery' END", 10),
    "power.battery_level": ("CAST(hash(i, 3) % 101 AS DOUBLE) / 100", 20),
    "thermal.state": ("['nominal', 'fair', 'serious', 'critical'][CAST(1 + hash(i, 4) % 4 AS BIGINT)]", 20),
    "thermal.max_celsius": ("CAST(hash(i, 5) % 900 AS DOUBLE) / 10", 30),
    "memory.available": ("CAST(hash(i, 6) % 12000000000 AS BIGINT)", 5),
}
"""The SQL of each live fact, and the share of devices that do not know it, in percent."""

PYTHON_DEVICES = 20_000
MAX_LINES = 500_000
MAX_SHEETS = 200_000
LINES_TO_A_MISTAKE = 3_000


def generate(database: Database, directory: Path, devices: int, files: int) -> list[Path]:
    """Write Parquet files with a row for each device."""
    registry = etconfig.Installation().fact_registry
    base = converted(database, SHEETS, file_identity(SHEETS), registry, cache=directory)
    names = database.columns(f"read_parquet('{base}')")
    columns = []
    for number, name in enumerate(names):
        if name in LIVE:
            sql, unknown = LIVE[name]
            is_known = f"hash(i, {100 + number}) % 100 >= {unknown}"
            columns.append(f"CASE WHEN {is_known} THEN {sql} END AS {quoted_name(name)}")
        elif name not in ("device_id", "etconfig_line", "etconfig_problem"):
            columns.append(f"base.{quoted_name(name)}")
    database.rows(
        "CREATE TABLE base AS SELECT *, row_number() OVER (ORDER BY device_id) - 1 AS k "
        f"FROM read_parquet('{base}')"
    )
    (models,) = database.rows("SELECT count(*) FROM base")[0]
    place = f"least({models} - 1, floor(exp(hash(i, 0) % 1000000 / 1e6 * ln({models} + 1)) - 1))"
    paths = []
    for number in range(files):
        path = directory / f"fleet-{number:03d}.parquet"
        first, last = devices * number // files, devices * (number + 1) // files
        database.rows(
            f"COPY (SELECT 'device-' || lpad(CAST(i AS VARCHAR), 9, '0') AS device_id, {', '.join(columns)} "
            f"FROM (SELECT i, CAST({place} AS BIGINT) AS k FROM range({first}, {last}) t(i)) "
            "JOIN base USING (k)) "
            f"TO '{path}' (FORMAT parquet, COMPRESSION zstd)"
        )
        paths.append(path)
    database.rows("DROP TABLE base")
    return paths


def measure(label: str, devices: int, run: Callable[[], object]) -> None:
    """Run once, and print the rates."""
    clock, cpu = time.perf_counter(), time.process_time()
    run()
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    print(f"{label:<56} {devices / cpu / 1e6:6.3f} M/s of CPU  {devices / clock / 1e6:6.3f} M/s of the clock")


def pure_pushdown(database: Database, part: InventoryPart, plan: FleetPlan) -> None:
    """Evaluate every condition on every device in SQL."""
    texts = []
    for condition in plan.conditions:
        tree = folded(condition.expression.tree, condition.by_hand, part.facts)
        text = condition_sql(
            tree, {name: c.info for name, c in part.facts.items()}, lambda n: part.facts[n].sql
        )
        texts.append(f"count(*) FILTER (WHERE {text})")
    database.rows(f"SELECT {', '.join(texts)} FROM {part.source.relation}")


def pure_python(database: Database, part: InventoryPart, plan: FleetPlan) -> None:
    """Decide about the first devices one by one, remembering by what decides."""
    facts = [name for name in part.facts if name != "device.id"]
    columns = ", ".join(part.facts[name].sql for name in facts)
    rows = database.rows(f"SELECT {columns} FROM {part.source.relation} LIMIT {PYTHON_DEVICES}")
    for row in rows:
        plan.outcome(
            {
                n: tuple(v) if isinstance(v, list) else v
                for n, v in zip(facts, row, strict=True)
                if v is not None
            }
        )


def compare_with_workers(
    database: Database, paths: list[Path], parts: list[InventoryPart], plan: FleetPlan, count: int
) -> None:
    """Measure one worker and several, with one thread each: by the clock, and by the time of processors."""
    program = etconfig.load_program(PROGRAM, installation=plan.installation)
    recipe = PlanRecipe.of(
        plan, [program], profile="auto", require_match=False, fact_overrides=(), overrides=()
    )
    job, sources = job_text([recipe], InventoryReading()), find_sources([str(path) for path in paths])
    times = {each: run_on_workers(database, sources, job, paths[0].parent, each) for each in (1, count)}
    for workers, found in times.items():
        for name, (clock, longest, own) in found.items():
            print(
                f"{name}, workers of Dask: {workers}; seconds of the clock {clock:.2f}, of the worker that "
                f"works longest {longest:.2f}, of this process {own:.2f}"
            )
    for name in times[1]:
        (clock, *cpu), (clock_of_all, *cpu_of_all) = times[1][name], times[count][name]
        gain, clock_gain = sum(cpu) / sum(cpu_of_all), clock / clock_of_all
        print(
            f"{name}, {count} workers: {gain:.2f} times one by the work of the worker and this process, "
            f"{clock_gain:.2f} by the clock"
        )


def run_on_workers(
    database: Database, sources: Sequence[InventorySource], job: str, directory: Path, count: int
) -> dict[str, tuple[float, float, float]]:
    """Count and resolve on workers, and measure seconds.

    Returns:
        For each kind of run, the seconds of the clock, and of processors: of the worker that works longest,
        and of this process, which merges what the workers found.
    """

    def ignore(*_: object) -> None:
        pass

    with started_cluster(directory, count) as client:
        workers = DaskWorkers(client)
        for _ in range(2):  # the first answers of each worker take its imports
            summarize_on(workers, sources, job, ignore)
        return {
            "summary": seconds(client, lambda: summarize_on(workers, sources, job, ignore)),
            "with a row for each": seconds(
                client,
                lambda: resolve_on(
                    workers, database, sources, job, directory / f"workers-{count}", "", ignore
                ),
            ),
        }


@contextmanager
def started_cluster(directory: Path, count: int) -> Iterator[Any]:
    """Start a scheduler and workers with one thread each, every one a process of its own; yield a client."""
    from distributed import Client

    where = directory / f"scheduler-{count}.json"
    further = ("--scheduler-file", str(where), "--no-dashboard")
    kinds = [("scheduler", "--port", "0"), *[("worker", "--nthreads", "1")] * count]
    processes = [
        subprocess.Popen([sys.executable, "-m", "dask", *words, *further], stderr=subprocess.DEVNULL)
        for words in kinds
    ]
    try:
        while not where.exists():
            time.sleep(0.1)
        with Client(scheduler_file=str(where)) as client:
            client.wait_for_workers(count)
            yield client
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()


def seconds(client: Any, run: Callable[[], object]) -> tuple[float, float, float]:
    """Run once; return the seconds of the clock, of the worker that works longest, and of this process."""
    before = client.run(time.process_time)
    clock, own = time.perf_counter(), time.process_time()
    run()
    clock, own = time.perf_counter() - clock, time.process_time() - own
    after = client.run(time.process_time)
    return clock, max(after[each] - before[each] for each in after), own


def largest_memory() -> int:
    """The most memory that the process had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def measure_lines(database: Database, directory: Path, path: Path, rows: int) -> None:
    """Measure the conversion of JSONL: of plain values, some of them wrong, and of our own fact sheets."""
    plain, wrong, shipped, whole = (
        directory / f"{name}.jsonl" for name in ("plain", "wrong", "shipped", "whole")
    )
    count = min(MAX_LINES, rows)
    database.rows(f"COPY (SELECT * FROM '{path}' LIMIT {count}) TO '{plain}' (FORMAT json)")
    lines = plain.read_bytes().splitlines(keepends=True)
    for number in range(0, count, LINES_TO_A_MISTAKE):
        lines[number] = lines[number].replace(b'"os.name":', b'"os.name":1,"os.name":', 1)
    wrong.write_bytes(b"".join(lines))
    of_this_machine = [json.loads(etconfig.detect_facts().to_json())]
    write_sheets(shipped, [json.loads(each.read_bytes()) for each in sorted(SHEETS.rglob("*.json"))], count)
    write_sheets(whole, of_this_machine, min(MAX_SHEETS, count))
    registry = etconfig.Installation().fact_registry
    for label, lines_of, amount in (
        ("JSONL of plain values", plain, count),
        (f"JSONL, a mistake in {LINES_TO_A_MISTAKE} lines", wrong, count),
        ("JSONL of the shipped sheets", shipped, count),
        ("JSONL of etconfig facts --json", whole, min(MAX_SHEETS, count)),
    ):
        size = lines_of.stat().st_size // amount
        target = directory / "lines.parquet"
        run = partial(convert_lines, database, lines_of, target, registry, None, ())
        measure(f"{label}, {size} bytes", amount, run)
        print(f"largest memory {largest_memory()} MiB")


def write_sheets(path: Path, sheets: Sequence[dict[str, Any]], count: int) -> None:
    """Write fact sheets as lines, each with the name of a device and another amount of free memory."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            sheet = sheets[number % len(sheets)]
            live = {"memory.available": {"value": number << 10, "unit": "bytes", "origin": "detected"}}
            facts = {**sheet["facts"], **live}
            file.write(json.dumps({"device_id": f"device-{number}", **sheet, "facts": facts}) + "\n")


def main() -> None:
    """Generate devices, and measure each way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--workers", type=int, help="Measure so many workers of Dask, too.")
    given = parser.parse_args()
    installation = etconfig.Installation()
    program = etconfig.load_program(PROGRAM, installation=installation)
    with tempfile.TemporaryDirectory() as scratch, opened_database(threads=given.threads) as database:
        directory = Path(scratch)
        paths = generate(database, directory, given.devices, given.files)
        size = sum(path.stat().st_size for path in paths)
        print(f"{given.devices:,} devices in {given.files} files, {size / given.devices:.1f} bytes each")
        parts = list(
            InventoryOpener(database, installation.fact_registry).open_all(
                find_sources([str(p) for p in paths])
            )
        )
        plan = FleetPlan(program, installation, profile="auto")
        measure("compile (devices for comparison)", given.devices, lambda: plan.needed_facts(frozenset()))
        plan.conditions  # noqa: B018  (compiled once)

        def ignore(part: InventoryPart, number: int, count: int) -> None:
            pass

        measure("summary", given.devices, lambda: summarize_fleet(database, parts, plan, ignore))
        out = directory / "out"
        measure(
            "with a row for each device",
            given.devices,
            lambda: resolve_fleet(database, parts, plan, out, "", ignore),
        )
        if given.workers:
            compare_with_workers(database, paths, parts, plan, given.workers)
        measure(
            "pure pushdown of every condition", parts[0].rows, lambda: pure_pushdown(database, parts[0], plan)
        )
        measure(
            "pure Python, remembering what decides",
            PYTHON_DEVICES,
            lambda: pure_python(database, parts[0], plan),
        )
        print(f"largest memory {largest_memory()} MiB")
        measure_lines(database, directory, paths[0], parts[0].rows)


if __name__ == "__main__":
    main()
