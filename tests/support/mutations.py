"""Ways to damage the bytes of a file, and the number of them that one run of the tests tries."""

from __future__ import annotations

import os
import random
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from effort import EFFORT, scaled

T = TypeVar("T")

DATA = Path(__file__).parents[1] / "data"
SMALL_FILES = sorted(
    path
    for folder in ("programs", "exports", "older")
    for path in (DATA / folder).iterdir()
    if path.suffix in (".pte", ".ptd", ".bpte")
)
LARGE_FILES = sorted((DATA / "architectures").glob("*.pte")) + sorted((DATA / "digits").glob("*.pte"))
"""Programs with enough values to be read by columns."""

VERIFIER = "the verifier alone"
"""The refusal of ExecuTorch's verifier alone, which also reads fields that nothing else reads."""

_SHARDS = 4
_ASKED = int(os.environ.get("ETCONFIG_MUTANTS", "0"))
MUTANTS = _ASKED or scaled(12_500)
"""The number of damaged files to try. Each Python tries others: 500,000 together in `make weekly`."""
_MUTANTS_OF_LARGE = MUTANTS // 25
"""A large file takes ten times as long as a small one."""


def sharded(items: Sequence[T]) -> Sequence[T]:
    """Return the quarter of `items` that this Python tries; all with ETCONFIG_MUTANTS or more effort."""
    return items if _ASKED or EFFORT > 1 else items[sys.version_info.minor % _SHARDS :: _SHARDS]


def mutants(path: Path, count: int | None = None) -> Iterator[bytes]:
    """Yield `count` damaged copies of a file, others in each Python; by default, `MUTANTS` of all files."""
    original, rng = path.read_bytes(), random.Random(f"{path.name} {sys.version_info.minor % _SHARDS}")
    if count is None:
        is_large = path in LARGE_FILES
        count = 1 + (_MUTANTS_OF_LARGE // len(LARGE_FILES) if is_large else MUTANTS // len(SMALL_FILES))
    for _ in range(count):
        data = bytearray(original)
        for _ in range(rng.choice([1, 1, 1, 2])):
            rng.choice(MUTATIONS)(data, rng)
        yield bytes(data)


EXTREMES = {
    "<I": [0, 1, 2**31 - 1, 2**31, 2**32 - 1],
    "<Q": [0, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1],
    "<H": [0, 1, 2, 4, 2**15, 2**16 - 1],
    "<B": [0, 1, 127, 128, 255],
}


def flip_bits(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def write_extreme(data: bytearray, rng: random.Random) -> None:
    code = rng.choice(list(EXTREMES))
    size = struct.calcsize(code)
    position = rng.randrange(0, len(data) - size) // size * size
    struct.pack_into(code, data, position, rng.choice(EXTREMES[code]))


def nudge_number(data: bytearray, rng: random.Random) -> None:
    position = rng.randrange(0, len(data) - 4) // 4 * 4
    (number,) = struct.unpack_from("<I", data, position)
    struct.pack_into("<I", data, position, (number + rng.choice([-8, -4, -1, 1, 4, 8])) % 2**32)


def copy_block(data: bytearray, rng: random.Random) -> None:
    size = rng.randint(1, 64)
    source, target = (rng.randrange(0, len(data) - size) for _ in range(2))
    data[target : target + size] = data[source : source + size]


def drop_block(data: bytearray, rng: random.Random) -> None:
    position = rng.randrange(len(data))
    del data[position : position + rng.randint(1, 16)]


MUTATIONS: list[Callable[[bytearray, random.Random], None]] = [
    flip_bits,
    write_extreme,
    nudge_number,
    copy_block,
    drop_block,
]
