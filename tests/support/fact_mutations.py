"""Damage to the files of a captured tree: cut, emptied, enlarged, with other bytes and numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NUMBERS = (
    *(b"0", b"-1", b"+5", b"00", b"1_0", b"1e3", b"0x10", b"max", b"100", b"-5000", b"199999", b"200000"),
    *(str(2**k + d).encode() for k in (31, 53, 62, 63, 64) for d in (-1, 0, 1)),
    *(
        b"-9223372036854775808",
        b"-9223372036854775809",
        b"9" * 30,
        b"0" * 30 + b"1",
        "٣".encode(),
        b"8191",
        b"8192",
    ),
)
WORDS = (
    *(
        b"\0",
        b"\n",
        b"\n\n",
        b"\r\n",
        b"\t",
        b" ",
        b":",
        b"=",
        b",",
        b"/",
        b"'",
        b'"',
        b"\\",
        b"..",
        b" - ",
        b"-",
    ),
    *("\N{NO-BREAK SPACE}".encode(), "\N{LINE SEPARATOR}".encode(), "é".encode(), "\N{KELVIN SIGN}".encode()),
    *(
        "\N{GRINNING FACE}".encode(),
        "\N{RIGHT-TO-LEFT OVERRIDE}".encode(),
        "\N{REPLACEMENT CHARACTER}".encode(),
    ),
    *(
        b"\xff",
        b"\xc3",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\xed\xa0\x80",
        b"\xf4\x90",
        b"\x85",
        b"\x1c",
        b"\x0b",
    ),
    *(
        b"unknown",
        b"Unknown",
        b"None",
        b"true",
        b"Battery",
        b"Mains",
        b"Discharging",
        b"passive",
        b"critical",
    ),
)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _replace_number(data: bytes, chance: random.Random) -> bytes:
    found = list(re.finditer(rb"[0-9]+", data))
    if not found:
        return chance.choice(NUMBERS)
    match = chance.choice(found)
    return data[: match.start()] + chance.choice(NUMBERS) + data[match.end() :]


def _insert_word(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(WORDS) + data[at:]


def _replace_byte(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


def _shuffle_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join(chance.choices(lines, k=chance.randrange(1, 2 * len(lines) + 2)))


def _drop_line(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    lines.pop(chance.randrange(len(lines)))
    return b"\n".join(lines)


def _enlarge(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    size = chance.choice((4096, 8190, 8192, 8193, 20_000)) - len(lines[at]) * chance.randrange(2)
    lines[at] += chance.choice((b"a", b" ", b"0", b"\xff", b" x", "é".encode())) * max(0, size)
    return b"\n".join(lines)


def _overflow(data: bytes, chance: random.Random) -> bytes:
    missing = (4 << 20) - len(data) + chance.randrange(3) - 1
    return data + (b"\n" + b"x" * 99) * (missing // 100) + b"\n" * (missing % 100)


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_cut, _replace_number, _insert_word, _replace_byte, _shuffle_lines, _drop_line, _enlarge),
    *(_replace_number, _insert_word),
)


@contextmanager
def mutate(root: Path, chance: random.Random) -> Iterator[str]:
    """Change some files of a tree for the duration of the context; yields a description."""
    paths = sorted(path for path in root.rglob("*") if path.is_file() and path.name != "machine.json")
    chosen = chance.sample(paths, min(len(paths), chance.randrange(1, 4)))
    before = {path: path.read_bytes() for path in chosen}
    changes = []
    try:
        for path, data in before.items():
            change = _overflow if chance.random() < 0.02 else chance.choice(MUTATIONS)
            if chance.random() < 0.05:
                path.unlink()
            else:
                path.write_bytes(change(data, chance))
            changes.append(f"{change.__name__} of {path.relative_to(root)}")
        yield ", ".join(changes)
    finally:
        for path, data in before.items():
            path.write_bytes(data)
