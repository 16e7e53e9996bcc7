"""Opens, loads and runs damaged programs with the real ExecuTorch runtime; prints the outcomes as JSON.

Run it as `python run_native_mutants.py --count 50000`, in an environment with etconfig-executorch. Mutants
run in forked processes. One that ends its process, takes longer than `--seconds`, or raises an error that is
not etconfig's is listed, and saved to `--save`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from mutations import DATA, MUTATIONS
from structure import STRUCTURAL, Parts, Schema, Walker

import etconfig
from etconfig.errors import EtconfigError

warnings.simplefilter("ignore")

ROOT = DATA.parents[1]
GOLDEN = sorted((ROOT / "plugins/etconfig-executorch/etconfig_executorch/golden").rglob("*.pte"))
PROGRAMS = [
    *(path for name in ("programs", "exports", "older") for path in sorted((DATA / name).glob("*.pte"))),
    *GOLDEN,
    *sorted((DATA / "digits").glob("*.pte")),
]
PROGRAMS.remove(DATA / "older" / "0.6.0_external.pte")  # its data file is of a release that is refused
MEMORY_BYTES = 3 << 30
LARGEST_INPUT_BYTES = 1 << 22
SCALARS = {"Int": 1, "Bool": True, "Double": 1.0, "String": "a", "None": 2}
XNNPACK_HEADER = struct.Struct("<HIIII")


def _wheel() -> Path:
    import executorch

    return Path(next(iter(executorch.__path__)))


@cache
def schemas() -> tuple[Schema, Schema, Schema]:
    """Return the schemas of programs, of data files and of XNNPACK's payloads, as the wheel has them."""
    exir, flat = _wheel() / "exir/_serialize", _wheel() / "extension/flat_tensor/serialize"
    xnnpack = _wheel() / "backends/xnnpack/serialization/runtime_schema.fbs"
    return (
        Schema.read(exir / "program.fbs", exir / "scalar_type.fbs"),
        Schema.read(flat / "flat_tensor.fbs", flat / "scalar_type.fbs"),
        Schema.read(xnnpack),
    )


def data_files(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.stem}*.ptd")) if "external" in path.stem else []


def payloads(data: bytes) -> Iterator[int]:
    """Yield the starts of the FlatBuffers of XNNPACK in a program."""
    at = -1
    while (at := data.find(b"XH00", at + 1)) >= 0:
        _, offset, *_ = XNNPACK_HEADER.unpack_from(data, at + 4)
        yield at - 4 + offset


@cache
def parts_of(path: Path) -> list[Parts]:
    """Return the parts of a file's tables, and of each payload in it."""
    program, flat, xnnpack = schemas()
    data = path.read_bytes()
    if path.suffix == ".ptd":
        return [Walker(data, flat).root("FlatTensor")]
    found = [Walker(data, program).root("Program")]
    for start in payloads(data):
        with contextlib.suppress(struct.error, IndexError, KeyError):
            found.append(Walker(data, xnnpack).root("XNNGraph", start))
    return found


def mutant(path: Path, number: int, seed: str) -> tuple[bytes, list[bytes]]:
    """Return a damaged program, or an intact one with damaged data files."""
    rng = random.Random(f"{path.name} {number} {seed}")
    files = [path, *data_files(path)]
    contents = [bytearray(each.read_bytes()) for each in files]
    at = rng.choice([0, 0, rng.randrange(len(files))])
    parts = parts_of(files[at])
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.2:
            rng.choice(MUTATIONS)(contents[at], rng)
        else:
            with contextlib.suppress(struct.error, IndexError):  # another mutation dropped bytes
                rng.choice(STRUCTURAL)(contents[at], rng.choice(parts), rng)
    return bytes(contents[0]), [bytes(each) for each in contents[1:]]


def inputs_of(method: etconfig.Method, rng: random.Random) -> list[object]:
    """Return inputs that fit the method, unless they would be large."""
    meta, made = method.metadata, []
    for index in range(meta.num_inputs()):
        tag = meta.input_tag(index)
        if tag != "Tensor":
            made.append(SCALARS.get(tag))
            continue
        tensor = meta.input_tensor_meta(index)
        if tensor.nbytes() > LARGEST_INPUT_BYTES:
            return []
        low, high = rng.choice([(0, 2), (0, 1), (-3, 4)])
        dtype = _dtype(tensor)
        made.append(np.random.default_rng(rng.randrange(9)).integers(low, high, tensor.sizes()).astype(dtype))
    return made


def _dtype(tensor: object) -> np.dtype:
    from etconfig.kernel.tensor import DTYPES

    return np.dtype(DTYPES[tensor.dtype()])


def run(data: bytes, files: list[bytes], rng: random.Random) -> str:
    """Run every method twice; return the name of an etconfig error, or `ran`."""
    try:
        with etconfig.load_program(data, data=files, executor="executorch") as program:
            for name in program.method_names:
                with program.load_method(name) as method:
                    for _ in range(2):
                        method.execute(inputs_of(method, rng))
    except EtconfigError as error:
        str(error)
        return type(error).__name__
    except Exception as error:
        lines = traceback.format_exception(error)
        return f"untyped {type(error).__name__}: {error} {''.join(lines[-3:])}"
    return "ran"


def child(jobs: list[tuple[Path, int]], seed: str, seconds: int, board: mmap.mmap, results: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    with os.fdopen(results, "w") as stream:
        for index, (path, number) in enumerate(jobs):
            board[:8] = struct.pack("<Q", index)
            signal.alarm(seconds)
            outcome = run(*mutant(path, number, seed), random.Random(number))
            stream.write(json.dumps([index, outcome]) + "\n")
            stream.flush()


def batch(jobs: list[tuple[Path, int]], seed: str, seconds: int) -> Iterator[tuple[Path, int, str]]:
    """Yield the outcome of each mutant; a process that ends is followed by another for the rest."""
    board = mmap.mmap(-1, 8)
    while jobs:
        out, into = os.pipe()
        if not (pid := os.fork()):
            os.close(out)
            code = 1
            try:
                child(jobs, seed, seconds, board, into)
                code = 0
            finally:
                os._exit(code)
        os.close(into)
        with os.fdopen(out) as stream:
            for line in stream:
                index, outcome = json.loads(line)
                yield *jobs[index], outcome
        _, status = os.waitpid(pid, 0)
        if status == 0:
            return
        (index,) = struct.unpack("<Q", board[:8])
        name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {status >> 8}"
        yield *jobs[index], f"signal {name}"
        jobs = jobs[index + 1 :]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    programs = [path for path in PROGRAMS if given.only in path.name]
    jobs = [
        (programs[each % len(programs)], each // len(programs))
        for each in range(given.start, given.start + given.count)
    ]
    etconfig.load_program(PROGRAMS[0])  # imports what the children need, once
    import etconfig_executorch.executor  # noqa: F401

    for path in programs:
        for each in (path, *data_files(path)):
            parts_of(each)
    tally, found = Counter[str](), []
    for at in range(0, len(jobs), 500):
        for path, number, outcome in batch(jobs[at : at + 500], given.seed, given.seconds):
            tally[outcome.split(":")[0]] += 1
            if outcome.startswith(("signal", "untyped")):
                found.append([path.name, number, outcome])
                sys.stderr.write(f"{path.name} {number} {outcome}\n")
                if given.save:
                    given.save.mkdir(parents=True, exist_ok=True)
                    data, files = mutant(path, number, given.seed)
                    stem = f"{path.stem}-{number}"
                    (given.save / f"{stem}.pte").write_bytes(data)
                    for place, each in enumerate(files):
                        (given.save / f"{stem}-{place}.ptd").write_bytes(each)
    json.dump({"tally": tally, "found": found}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
