"""The time of commands from a cold start, as ratios to `python -c pass` in the same rounds.

    python benchmarks/bench_cold_start.py [--rounds N]

Bytecode is cached (PYTHONDONTWRITEBYTECODE is removed), as on a user's machine after the
first run; the current directory is empty, so there is no project file. Each round times every
command once, so a machine that slows down slows all of them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETS_OPTIONS = ROOT / "examples" / "two_cameras" / "profiles" / "demo" / "two-cameras.toml"
PROGRAM = ROOT / "tests" / "data" / "digits" / "digits.pte"
UNIT = [sys.executable, "-c", "pass"]
ETCONFIG = [sys.executable, "-m", "etconfig"]

COMMANDS = {
    "import etconfig": ([sys.executable, "-c", "import etconfig"], 4),
    "etconfig --version": ([*ETCONFIG, "--version"], 4),
    "etconfig --help": ([*ETCONFIG, "--help"], 4),
    "etconfig backends": ([*ETCONFIG, "backends"], 4),
    "etconfig profiles list": ([*ETCONFIG, "profiles", "list"], 4),
    "etconfig resolve --json": ([*ETCONFIG, "resolve", "--json"], 14),
    "etconfig resolve digits.pte --json": ([*ETCONFIG, "resolve", str(PROGRAM), "--json"], 14),
    "etconfig validate any.toml": ([*ETCONFIG, "validate", str(ROOT / "profiles/generic/any.toml")], 14),
    "etconfig validate, with options": ([*ETCONFIG, "validate", str(SETS_OPTIONS)], 14),
}
"""Each command and its target, in units."""


def main() -> None:
    """Print the median time of each command and its ratio to the unit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as directory:
        units, times = measure_all(rounds, Path(directory), environment)
    print(f"python -c pass: {statistics.median(units) * 1e3:.1f} ms, median of {rounds} rounds")
    for name, (_, target) in COMMANDS.items():
        ratio = statistics.median(t / u for t, u in zip(times[name], units, strict=True))
        print(
            f"{name:<36} {statistics.median(times[name]) * 1e3:7.1f} ms {ratio:6.1f} units (target {target})"
        )


def measure_all(
    rounds: int, directory: Path, environment: dict[str, str]
) -> tuple[list[float], dict[str, list[float]]]:
    """Return the times of the unit and of each command, in seconds, after one round of warm-up."""
    for command, _ in COMMANDS.values():
        measure(command, directory, environment)
    units, times = [], {name: [] for name in COMMANDS}
    for _ in range(rounds):
        units.append(measure(UNIT, directory, environment))
        for name, (command, _) in COMMANDS.items():
            times[name].append(measure(command, directory, environment))
    return units, times


def measure(command: list[str], directory: Path, environment: dict[str, str]) -> float:
    """Return the wall time of one run in seconds."""
    start_s = time.perf_counter()
    subprocess.run(command, env=environment, cwd=directory, check=True, capture_output=True)
    return time.perf_counter() - start_s


if __name__ == "__main__":
    main()
