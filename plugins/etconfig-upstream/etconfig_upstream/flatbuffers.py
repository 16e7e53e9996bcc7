"""Reading of FlatBuffers whose bytes may be anything: a wrong place raises `struct.error`.

Source: the FlatBuffers binary format, https://flatbuffers.dev/internals.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator


def root(data: bytes, start: int = 0) -> int:
    """Return the place of the root table of the buffer at `start`."""
    return start + number("I", data, start)


def tables(data: bytes, table: int, field: int) -> Iterator[int]:
    """Yield the places of the tables in a vector of a table."""
    vector = target(data, table, field)
    if vector is not None:
        for index, offset in enumerate(items(data, vector)):
            yield vector + 4 + 4 * index + offset


def items(data: bytes, vector: int) -> Iterator[int]:
    """Yield the numbers of a vector, at most as many as fit into the data."""
    for index in range(min(number("I", data, vector), len(data) // 4)):
        yield number("I", data, vector + 4 + 4 * index)


def text(data: bytes, table: int, field: int) -> str:
    """Return a text in a table, by default an empty one. Raises UnicodeDecodeError, too."""
    place = target(data, table, field)
    return "" if place is None else data[place + 4 : place + 4 + number("I", data, place)].decode()


def target(data: bytes, table: int, field: int) -> int | None:
    """Return the place of what a field of a table refers to; None if the table does not have it."""
    place = _place(data, table, field)
    return None if place is None else place + number("I", data, place)


def scalar(data: bytes, table: int, field: int, kind: str) -> int:
    """Return a number in a table, by default 0."""
    place = _place(data, table, field)
    return 0 if place is None else number(kind, data, place)


def _place(data: bytes, table: int, field: int) -> int | None:
    layout = table - number("i", data, table)
    if 4 + 2 * field >= number("H", data, layout):
        return None
    offset = number("H", data, layout + 4 + 2 * field)
    return table + offset if offset else None


def number(kind: str, data: bytes, place: int) -> int:
    """Return the number at a place; `kind` is as for the module `struct`."""
    if place < 0:
        raise struct.error("before the data")
    value: int = struct.unpack_from(f"<{kind}", data, place)[0]
    return value
