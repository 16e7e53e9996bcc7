"""Ways to damage the bytes of a file."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

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
