"""The processor time of commands from a cold start, as ratios to `python -c pass` in the same rounds.

    python benchmarks/bench_cold_start.py [--rounds N] [--beside PYTHON]...

Run it in an environment with all plugins of this repository and their engines: commands must not become
slower with what is installed. The time is that of the process and of those that it starts, user and system.
Bytecode is cached (PYTHONDONTWRITEBYTECODE is removed), as on a user's machine after the first run; the
current directory has no project file. Each round runs every command once in each environment, so a machine
that slows down slows all of them.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETS_NO_OPTIONS = ROOT / "profiles" / "generic" / "any.toml"
SETS_OPTIONS = ROOT / "examples" / "two_cameras" / "profiles" / "demo" / "two-cameras.toml"
PROGRAM = ROOT / "tests" / "data" / "digits" / "digits.pte"
SHEET = "sheet.json"
ETCONFIG = ("-m", "etconfig")
UNIT = "python -c pass"

COMMANDS: Mapping[str, tuple[tuple[str, ...], float | None]] = {
    UNIT: (("-c", "pass"), None),
    "import etconfig": (("-c", "import etconfig"), 4),
    "--version": ((*ETCONFIG, "--version"), 1.7),
    "--help": ((*ETCONFIG, "--help"), 1.7),
    "backends": ((*ETCONFIG, "backends"), 5),
    "profiles list": ((*ETCONFIG, "profiles", "list"), 6),
    "facts": ((*ETCONFIG, "facts"), 12),
    "validate, no options": ((*ETCONFIG, "validate", str(SETS_NO_OPTIONS)), 12),
    "validate, options": ((*ETCONFIG, "validate", str(SETS_OPTIONS)), None),
    "resolve PROGRAM --facts S --json": (
        (*ETCONFIG, "resolve", str(PROGRAM), "--facts", SHEET, "--json"),
        16,
    ),
    "resolve PROGRAM --json": ((*ETCONFIG, "resolve", str(PROGRAM), "--json"), 20),
    "doctor": ((*ETCONFIG, "doctor"), 50),
}
"""The arguments of Python for each command, and its aim in units; None if there is none."""

_FINDINGS = 1
"""The exit status of `doctor` if something is wrong, for example two plugins of one backend."""


def main() -> None:
    """Print the median time of each command, its ratio to the unit, and its aim, for each environment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--beside", action="append", default=[], help="the Python of another environment")
    arguments = parser.parse_args()
    pythons = [sys.executable, *arguments.beside]
    with tempfile.TemporaryDirectory() as directory:
        times = measure_all(pythons, arguments.rounds, Path(directory))
    for python in pythons:
        print(f"{python}: {plugins_of(python)}")
    print(f"medians of {arguments.rounds} rounds: milliseconds, units of `{UNIT}`, aim")
    for name, (_, aim) in COMMANDS.items():
        cells = ""
        for python in pythons:
            median, unit = (statistics.median(times[python, each]) for each in (name, UNIT))
            cells += f"{median * 1e3:9.1f} ms {median / unit:6.1f}"
        print(f"{name:<34}{cells}   {'' if aim is None else f'{aim:g}'}")


def plugins_of(python: str) -> str:
    """Return the names of the distributions with plugins in an environment."""
    code = (
        "import etconfig.plugin as p; "
        "print(*sorted({e.distribution for e in p.discover_plugins().installed}), sep=', ')"
    )
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def measure_all(pythons: list[str], rounds: int, directory: Path) -> dict[tuple[str, str], list[float]]:
    """Return the times of each command in each environment, in seconds, after one round of warm-up."""
    times: dict[tuple[str, str], list[float]] = {
        (python, name): [] for python in pythons for name in COMMANDS
    }
    for number in range(rounds + 1):
        for python in pythons:
            sheet = directory / f"{pythons.index(python)}"
            sheet.mkdir(exist_ok=True)
            if number == 0:
                measure([python, *ETCONFIG, "facts", "--save", SHEET], sheet)
            for name, (arguments, _) in COMMANDS.items():
                time_s = measure([python, *arguments], sheet)
                if number:
                    times[python, name].append(time_s)
    return times


def measure(command: list[str], directory: Path) -> float:
    """Return the processor time of one run and of the processes that it starts, in seconds."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, cwd=directory, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, _FINDINGS):
        raise SystemExit(f"{command} failed: {done.stderr.decode()}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
