"""The number of small files that `validate` checks per second, compared with check-jsonschema.

    python benchmarks/bench_validate.py [--files N] [--rounds N] [--check-jsonschema PYTHON]

The files are profiles that set eight options of the reference backends, with two conditions and one
expression; one in a hundred has a mistyped option. What is timed in one process is a `Validator` in use, a
hundred files at a time, by the thread's processor time; the commands are timed whole, by the processor time
of theirs. Of each the fastest round counts. tomli alone reads and parses the files, which is the least that
any of them does. check-jsonschema is skipped where it is not installed. It gets what
`etconfig schema --profile` prints, which checks names, types and bounds, but neither expressions nor what
profiles extend.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import tomli

from etconfig.app.installation.installation import Installation
from etconfig.app.validating.validation import Validator

TARGET_FILES_PER_S = 7_000
FLOOR_FILES_PER_S = 23_400  # on the machine for which the target was set
TARGET_RATIO = 3
BAD_ONE_IN = 100
FLOOR = "tomli alone"
OURS = "etconfig, in one process"
PEER = "check-jsonschema"

TEXT = """\
[profile]
name = "acme/board-{number}"
description = "Board {number}"
match = 'os.name == "linux" && cpu.available_cores >= 2'

[options.ReferenceCpuBackend]
{num_threads} = {{ expr = "min(cpu.available_cores, 4)" }}

[options.ReferenceNpuBackend]
core = {core}
power_mode = "low"  # board {number}
precision = "fp16"

[methods."embed*".options.ReferenceNpuBackend]
core = 1
power_mode = "high"

[instances.camera0]
method = "forward"
[instances.camera0.options.ReferenceNpuBackend]
core = 2

[[when]]
if = 'power.source == "battery"'
[when.options.ReferenceNpuBackend]
power_mode = "balanced"
"""


def main() -> None:
    """Print files per second and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--check-jsonschema", metavar="PYTHON", help="an interpreter that has check-jsonschema"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        files = write_files(Path(directory), asked.files)
        schema = Path(directory) / "profile.schema.json"
        times = time_in_process(files, asked.rounds)
        commands = {
            "etconfig validate DIR": lambda: run("etconfig", "validate", directory, "--format", "concise")
        }
        if asked.check_jsonschema or importlib.util.find_spec("check_jsonschema"):
            schema.write_bytes(run("etconfig", "schema", "--profile"))
            command = ("check_jsonschema", "--schemafile", str(schema), *map(str, files))
            python = asked.check_jsonschema or sys.executable
            commands[PEER] = lambda: run(*command, python=python)
        for _ in range(asked.rounds):
            for name, command_run in commands.items():
                taken_s = seconds(command_run, children_time)
                times[name] = min(taken_s / len(files), times.get(name, taken_s))
    report(times)


def time_in_process(files: Sequence[Path], rounds: int) -> dict[str, float]:
    """Return the least seconds per file of tomli alone and of a warm validator, in turns over the files."""
    validator = Validator(installation=Installation(None, environ={}))
    validate_all(files[:1], validator)
    times = {FLOOR: math.inf, OURS: math.inf}
    for start in [*range(0, len(files), BAD_ONE_IN)] * rounds:
        part = files[start : start + BAD_ONE_IN]
        for name, subject in ((FLOOR, parse_all), (OURS, partial(validate_all, validator=validator))):
            taken_s = seconds(partial(subject, part), time.thread_time)
            times[name] = min(taken_s / len(part), times[name])
    return times


def write_files(directory: Path, count: int) -> list[Path]:
    """Write the profiles; every hundredth has a mistyped option."""
    files = []
    for number in range(count):
        path = directory / f"board-{number}.toml"
        name = "num_thread" if number % BAD_ONE_IN == 0 else "num_threads"
        path.write_text(TEXT.format(number=number, core=number % 4, num_threads=name))
        files.append(path)
    return files


def parse_all(files: Sequence[Path]) -> None:
    """Read and parse every file, without looking at it: no validator can be faster."""
    for path in files:
        tomli.loads(path.read_bytes().decode())


def validate_all(files: Sequence[Path], validator: Validator) -> None:
    """Validate every file, and check the count of bad ones."""
    found = sum(bool(validator.problems(path)) for path in files)
    assert found == -(-len(files) // BAD_ONE_IN)


def run(module: str, *arguments: str, python: str = sys.executable) -> bytes:
    """Run a module as a command, and return its output."""
    # Bytecode is cached, as on a user's machine after the first run.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [python, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.returncode < 2, done.stderr
    return done.stdout


def seconds(subject: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return the time of one call by a clock."""
    start_s = clock()
    subject()
    return clock() - start_s


def children_time() -> float:
    """Return the processor time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report(times: Mapping[str, float]) -> None:
    """Print the speed of each subject, and the ratios of the times per file."""
    peer = times.get(PEER)
    for name, taken_s in times.items():
        line = f"{name:<26} {1 / taken_s:8,.0f} files/s"
        line += f"   {taken_s / times[FLOOR]:6.2f} x the time of tomli alone"
        if peer and name != PEER:
            line += f"   {peer / taken_s:6.1f} x as fast as check-jsonschema"
        print(line)
    if peer is None:
        print("check-jsonschema is not installed here; --check-jsonschema names an interpreter that has it")
    print(
        f"targets in one process: {TARGET_FILES_PER_S:,} files/s where tomli alone does "
        f"{FLOOR_FILES_PER_S:,} ({FLOOR_FILES_PER_S / TARGET_FILES_PER_S:.1f} x its time), "
        f"{TARGET_RATIO} x as fast as check-jsonschema"
    )


if __name__ == "__main__":
    main()
