"""Time and memory of `etconfig fleet compare` on generated records of use.

    python benchmarks/bench_usage.py --devices 2000000 --records 10000000

Needs etconfig[fleet] and etconfig-reference. Devices are in four profiles and one rollout; one profile is
slower by the factor `--slower`. `--jsonl` writes lines of JSON instead of Parquet.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb

PROFILES = 4
BASE = """[profile]
name = "bench/p{n}"
match = 'os.name == "linux" && cpu.performance_cores == {n}'

[options.ReferenceCpuBackend]
num_threads = {{ expr = "cpu.available_cores" }}

[[when]]
if = 'bucket(device.id, "bench") < 0.1'

[when.options.ReferenceCpuBackend]
scratch_bytes = 65536
"""


def write_project(directory: Path) -> None:
    """Write the profiles and the project file."""
    (directory / "profiles" / "bench").mkdir(parents=True, exist_ok=True)
    for n in range(1, PROFILES + 1):
        (directory / "profiles" / "bench" / f"p{n}.toml").write_text(BASE.format(n=n))
    (directory / "etconfig.toml").write_text('profile_path = ["profiles"]\n')


def generate(
    directory: Path, devices: int, records: int, slower: float, seed: int = 0, jsonl: bool = False
) -> None:
    """Write an inventory, and records of which a tenth differ from the decisions."""
    write_project(directory)
    database = duckdb.connect(
        config={"memory_limit": "900MiB", "threads": 2, "temp_directory": str(directory)}
    )
    database.execute(
        f"COPY (SELECT 'device-' || lpad(CAST(i AS VARCHAR), 8, '0') AS device_id, 'linux' AS \"os.name\", "
        f'CAST(1 + hash(i, {seed}, 1) % {PROFILES} AS BIGINT) AS "cpu.performance_cores", '
        f'CAST([2, 4, 8][CAST(1 + hash(i, {seed}, 2) % 3 AS BIGINT)] AS BIGINT) AS "cpu.available_cores" '
        f"FROM range({devices}) t(i)) TO '{directory}/devices.parquet' (FORMAT parquet, COMPRESSION zstd)"
    )
    uniform = "((hash(d, {0}, {1}) % 1000000 + 0.5) / 1e6)"
    normal = f"sqrt(-2 * ln({uniform.format(seed, 3)})) * cos(2 * pi() * {uniform.format(seed, 4)})"
    profile = f"1 + hash(d, {seed}, 1) % {PROFILES}"
    cores = f"[2, 4, 8][CAST(1 + hash(d, {seed}, 2) % 3 AS BIGINT)]"
    device = "'device-' || lpad(CAST(d AS VARCHAR), 8, '0')"
    bucket = f"CAST('0x' || left(md5('bench:' || {device}), 13) AS UBIGINT) / 4503599627370496.0"
    value = f"1000 * exp(0.3 * {normal}) * CASE WHEN {profile} = 2 THEN {slower} ELSE 1 END"
    noise = f"(0.95 + hash(i, {seed}, 5) % 1000 / 10000.0)"
    scratch = f"CASE WHEN {bucket} < 0.1 THEN '65536' ELSE '1048576' END"
    options = (
        "[struct_pack(path := 'forward:ReferenceCpuBackend.num_threads', value := "
        f"CAST(CAST({cores} AS VARCHAR) AS JSON), source := 'profile'), struct_pack(path := "
        f"'forward:ReferenceCpuBackend.scratch_bytes', value := CAST({scratch} AS JSON), "
        "source := 'profile')]"
    )
    reason = f"CASE WHEN hash(d, {seed}, 6) % 100 < 8 THEN 'fallback' ELSE 'matched' END"
    kind = "FORMAT json" if jsonl else "FORMAT parquet, COMPRESSION zstd"
    drawn = f"SELECT i, CAST(hash(i, {seed}, 8) % {devices} AS BIGINT) AS d FROM range({records}) t(i)"
    database.execute(
        f"COPY (SELECT 1 AS etconfig_usage, {device} AS device, 1700000000000 + i AS at, 'bench' AS bundle, "
        f"CASE WHEN hash(d, {seed}, 7) % 100 < 2 THEN 6 ELSE 7 END AS revision, "
        f"'bench/p' || ({profile}) AS profile, {reason} AS reason, {options} AS options, "
        "struct_pack(load := 20 * v, first_run := 3 * v, p50 := v, p95 := 1.2 * v, runs := 100) "
        f"AS durations_us FROM (SELECT *, {value} * {noise} AS v FROM ({drawn}))) "
        f"TO '{directory}/usage.{'jsonl' if jsonl else 'parquet'}' ({kind})"
    )
    database.close()


def measured(arguments: Sequence[str], directory: Path) -> dict[str, object]:
    """Run the command, and return its output with the time and the memory."""
    start, load = time.perf_counter(), os.getloadavg()[0]
    command = [sys.executable, "-m", "etconfig", "fleet", "compare", "devices.parquet", *arguments, "--json"]
    found = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{time.perf_counter() - start:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU, "
        f"{used.ru_maxrss / 1024:.0f} MiB, load {load:.1f}, status {found.returncode}"
    )
    if not found.stdout:
        raise SystemExit(found.stderr)
    return dict(json.loads(found.stdout))


def main() -> None:
    """Generate, compare, and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int, default=2_000_000)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--slower", type=float, default=1.05)
    parser.add_argument("--memory", default="700MiB")
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--jsonl", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = given.directory or Path(scratch)
        name = "usage.jsonl" if given.jsonl else "usage.parquet"
        if not (directory / name).exists():
            generate(directory, given.devices, given.records, given.slower, jsonl=given.jsonl)
        found = measured(["--usage", name, "--threads", "2", "--memory", given.memory], directory)
        print(json.dumps(found["outcomes"]))
        for row in found["latency"]:  # type: ignore[attr-defined]
            if row["claim"]:
                print(row["by"], row["label"], row["metric"], row["ratio"], row["interval"])


if __name__ == "__main__":
    main()
