"""How many small files `validate` checks in a second, beside check-jsonschema on the same files.

    python benchmarks/bench_validate.py [--files N] [--rounds N]

The files are profiles that set eight options of the reference backends, with two conditions and one
expression; one in a hundred has a mistyped option. What is timed in one process is a new `Validator`
without the interpreter's start; the commands are timed whole. check-jsonschema is skipped if this
interpreter does not have it. It gets what `etconfig schema --profile` prints, which checks names, types and
bounds, but neither expressions nor what profiles extend.
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

from etconfig.installation import Installation
from etconfig.validation import Validator

TARGET_FILES_PER_S = 7_000
TARGET_RATIO = 3
BAD_ONE_IN = 100

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
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        files = write_files(Path(directory), asked.files)
        schema = Path(directory) / "profile.schema.json"
        subjects = {"etconfig, in one process": lambda: validate_all(files)}
        subjects["etconfig validate DIR"] = lambda: run(
            "etconfig", "validate", directory, "--format", "concise"
        )
        if importlib.util.find_spec("check_jsonschema"):
            schema.write_bytes(run("etconfig", "schema", "--profile"))
            command = ("check_jsonschema", "--schemafile", str(schema), *map(str, files))
            subjects["check-jsonschema"] = lambda: run(*command)
        times = {name: [] for name in subjects}
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


def validate_all(files: Sequence[Path]) -> None:
    """Validate every file with one validator, and check the count of bad ones."""
    validator = Validator(installation=Installation(None, environ={}))
    found = sum(bool(validator.problems(path)) for path in files)
    assert found == -(-len(files) // BAD_ONE_IN)


def run(module: str, *arguments: str) -> bytes:
    """Run a module as a command; what it prints."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, check=False)
    assert done.returncode < 2, done.stderr
    return done.stdout


def seconds(subject: Callable[[], object]) -> float:
    """Wall time of one call."""
    start_s = time.perf_counter()
    subject()
    return time.perf_counter() - start_s


def report(times: dict[str, list[float]], count: int) -> None:
    """Print the median of each subject, and how many times as fast as check-jsonschema it is."""
    peer = times.get("check-jsonschema")
    for name, taken in times.items():
        line = f"{name:<26} {count / statistics.median(taken):8,.0f} files/s"
        if peer and taken is not peer:
            ratio = statistics.median(p / t for p, t in zip(peer, taken, strict=True))
            line += f"   {ratio:5.1f} x check-jsonschema (target {TARGET_RATIO})"
        print(line)
    if peer is None:
        print("check-jsonschema is not installed here")
    print(f"target in one process: {TARGET_FILES_PER_S:,} files/s")


if __name__ == "__main__":
    main()
