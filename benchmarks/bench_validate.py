"""How many small files `validate` checks in a second, beside check-jsonschema on the same files.

    python benchmarks/bench_validate.py [--files N] [--rounds N] [--check-jsonschema PYTHON]

The files are profiles that set eight options of the reference backends, with two conditions and one
expression; one in a hundred has a mistyped option. What is timed in one process is a new `Validator`
without the interpreter's start; the commands are timed whole. tomli alone reads and parses the files, which
is the least that any of them does. check-jsonschema is skipped where it is not installed. It gets what
`etconfig schema --profile` prints, which checks names, types and bounds, but neither expressions nor what
profiles extend.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import tomli

from etconfig.installation import Installation
from etconfig.validation import Validator

TARGET_FILES_PER_S = 7_000
FLOOR_FILES_PER_S = 23_400  # of the machine for which that target was set
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
        subjects = {FLOOR: lambda: parse_all(files), OURS: lambda: validate_all(files)}
        subjects["etconfig validate DIR"] = lambda: run(
            "etconfig", "validate", directory, "--format", "concise"
        )
        if asked.check_jsonschema or importlib.util.find_spec("check_jsonschema"):
            schema.write_bytes(run("etconfig", "schema", "--profile"))
            command = ("check_jsonschema", "--schemafile", str(schema), *map(str, files))
            python = asked.check_jsonschema or sys.executable
            subjects[PEER] = lambda: run(*command, python=python)
        times: dict[str, list[float]] = {name: [] for name in subjects}
        for _ in range(asked.rounds):
            for name, subject in subjects.items():
                times[name].append(seconds(subject))
    report(times, asked.files)


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
    """Read and parse every file, and look at nothing: no validator can be faster."""
    for path in files:
        tomli.loads(path.read_bytes().decode())


def validate_all(files: Sequence[Path]) -> None:
    """Validate every file with one validator, and check the count of bad ones."""
    validator = Validator(installation=Installation(None, environ={}))
    found = sum(bool(validator.problems(path)) for path in files)
    assert found == -(-len(files) // BAD_ONE_IN)


def run(module: str, *arguments: str, python: str = sys.executable) -> bytes:
    """Run a module as a command; what it prints."""
    done = subprocess.run([python, "-m", module, *arguments], capture_output=True, check=False)
    assert done.returncode < 2, done.stderr
    return done.stdout


def seconds(subject: Callable[[], object]) -> float:
    """Wall time of one call."""
    start_s = time.perf_counter()
    subject()
    return time.perf_counter() - start_s


def report(times: dict[str, list[float]], count: int) -> None:
    """Print the speed of each subject, and the ratios; of each the fastest round and the median ratio."""
    peer = times.get(PEER)
    for name, taken in times.items():
        line = f"{name:<26} {count / min(taken):8,.0f} files/s"
        line += f"   {ratio(taken, times[FLOOR]):6.2f} x the time of tomli alone"
        if peer and taken is not peer:
            line += f"   {ratio(peer, taken):6.1f} x as fast as check-jsonschema"
        print(line)
    if peer is None:
        print("check-jsonschema is not installed here; --check-jsonschema names an interpreter that has it")
    print(
        f"targets in one process: {TARGET_FILES_PER_S:,} files/s where tomli alone does "
        f"{FLOOR_FILES_PER_S:,} ({FLOOR_FILES_PER_S / TARGET_FILES_PER_S:.1f} x its time), "
        f"{TARGET_RATIO} x as fast as check-jsonschema"
    )


def ratio(taken: Sequence[float], other: Sequence[float]) -> float:
    """The median of how many times as long one took as the other in the same round."""
    return statistics.median(one / two for one, two in zip(taken, other, strict=True))


if __name__ == "__main__":
    main()
