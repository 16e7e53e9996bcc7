"""The names of the weights that a payload of XNNPACK leaves to data files.

Source: backends/xnnpack/runtime/XNNHeader.h, backends/xnnpack/serialization/schema.fbs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_MAGIC = b"XH00"
_MAGIC_AT, _OFFSET_AT = 4, 10
_CONSTANT_DATA, _NAMED_KEY = 8, 2
"""The numbers of the fields `XNNGraph.constant_data` and `ConstantDataOffset.named_key`."""


def data_names(payload: bytes) -> list[str]:
    """Return the names, each once; none of a payload that is not one of XNNPACK, or damaged."""
    try:
        return list(dict.fromkeys(_names(payload)))
    except (struct.error, UnicodeDecodeError):
        return []


def _names(payload: bytes) -> Iterator[str]:
    if payload[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] != _MAGIC:
        return
    start = _number("I", payload, _OFFSET_AT)
    graph = start + _number("I", payload, start)
    vector = _field(payload, graph, _CONSTANT_DATA)
    count = 0 if vector is None else _number("I", payload, vector)
    for index in range(min(count, len(payload) // 4)):
        place = (vector or 0) + 4 + 4 * index
        text = _field(payload, place + _number("I", payload, place), _NAMED_KEY)
        if text is not None:
            name = payload[text + 4 : text + 4 + _number("I", payload, text)].decode()
            if name:
                yield name


def _field(payload: bytes, table: int, number: int) -> int | None:
    """Return the place of what a field of a table refers to; None if the table does not have it."""
    layout = table - _number("i", payload, table)
    if 4 + 2 * number >= _number("H", payload, layout):
        return None
    offset = _number("H", payload, layout + 4 + 2 * number)
    return None if not offset else table + offset + _number("I", payload, table + offset)


def _number(kind: str, payload: bytes, place: int) -> int:
    if place < 0:
        raise struct.error("before the payload")
    number: int = struct.unpack_from(f"<{kind}", payload, place)[0]
    return number
