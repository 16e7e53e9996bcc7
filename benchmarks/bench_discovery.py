"""The time to list plugins among many distributions, compared with `importlib.metadata`.

    python benchmarks/bench_discovery.py [--rounds N]

The distributions are made up: 1,000 of them, of which 200 declare entry points, 20 of these
etconfig's. Each round times both ways once, so a machine that slows down slows both. Files are
in the cache of the operating system, as after the first command.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from etconfig.plugin import BACKENDS, discover_plugins

DISTRIBUTIONS, DECLARING, OURS = 1000, 200, 20
TARGET_MS = 7


def main() -> None:
    """Print the median time of both ways, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as directory:
        write_distributions(Path(directory))
        ways = {
            "discover_plugins": lambda: len(discover_plugins([directory]).entries(BACKENDS)),
            "importlib.metadata": lambda: metadata_count(directory),
        }
        times = measure_all(rounds, ways)
    print(f"{DISTRIBUTIONS} distributions, {OURS} with plugins, median of {rounds} rounds")
    for name, values in times.items():
        print(f"{name:<20} {statistics.median(values) * 1e3:7.1f} ms")
    ours, theirs = times.values()
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    is_met = statistics.median(ours) * 1e3 <= TARGET_MS
    print(f"{ratio:.1f} times as fast; the target of {TARGET_MS} ms is {'met' if is_met else 'missed'}")


def write_distributions(root: Path) -> None:
    """Write the metadata that installers write, as far as the benchmark needs it."""
    for number in range(DISTRIBUTIONS):
        directory = root / f"made_up_{number}-1.0.dist-info"
        directory.mkdir()
        (directory / "METADATA").write_text(f"Metadata-Version: 2.1\nName: made-up-{number}\nVersion: 1.0\n")
        (directory / "RECORD").touch()
        if number < DECLARING:
            group = BACKENDS if number < OURS else "console_scripts"
            (directory / "entry_points.txt").write_text(f"[{group}]\nName{number} = made_up_{number}:main\n")


def metadata_count(directory: str) -> int:
    """Return the number of backends that the standard library finds."""
    importlib.invalidate_caches()  # a new process has none
    search_path, sys.path = sys.path, [directory]
    try:
        return len(importlib.metadata.entry_points(group=BACKENDS))
    finally:
        sys.path = search_path


def measure_all(rounds: int, ways: dict[str, Callable[[], int]]) -> dict[str, list[float]]:
    """Return the times of each way in seconds, after one round of warm-up."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for count in range(rounds + 1):
        for name, way in ways.items():
            start_s = time.perf_counter()
            found = way()
            elapsed_s = time.perf_counter() - start_s
            assert found == OURS, f"{name} found {found}"
            if count:
                times[name].append(elapsed_s)
    return times


if __name__ == "__main__":
    main()
