"""Constants, stored after the graph in the payload, or in the program's named data.

A program stores named data once for all delegates, and can move them to a data file (.ptd). The key
of a constant is the hash of its bytes, so equal constants have equal keys, and data from another
export are detected.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from etconfig_reference.errors import DamagedPayloadError, InvalidGraphError, MissingDataError
from etconfig_reference.graph import DTYPES, Array, ValueType

ALIGNMENT_BYTES = 64

Store: TypeAlias = Callable[[str, bytes], None]
"""Stores bytes under a key in the program that is being exported."""

Place: TypeAlias = "int | str"
"""The offset of a constant after the graph, or its key."""


def pack_constants(
    constants: Mapping[int, Array], store: Store | None
) -> tuple[list[tuple[int, Place]], bytes]:
    """Return the place of each constant, and the bytes to write after the graph (none with a `store`)."""
    places: list[tuple[int, Place]] = []
    blob = bytearray()
    for value, array in sorted(constants.items()):
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        if store is None:
            blob += bytes(-len(blob) % ALIGNMENT_BYTES)
            places.append((value, len(blob)))
            blob += data
        else:
            places.append((value, key_of(data)))
            store(key_of(data), data)
    return places, bytes(blob)


def key_of(data: bytes | memoryview) -> str:
    """Return the key under which a program stores a constant with these bytes."""
    return f"etconfig-reference/{hashlib.sha256(data).hexdigest()}"


def view_constant(
    place: Place, value: ValueType, blob: memoryview, named_data: Mapping[str, memoryview], where: str
) -> Array:
    """Return a constant, as a view into the payload's `blob` or into `named_data`.

    Raises:
        InvalidGraphError: it does not fit into the blob.
        MissingDataError: the program has no data under its key.
        DamagedPayloadError: the data under its key have another hash.
    """
    needed_bytes = math.prod(value.shape) * DTYPES[value.dtype].itemsize
    if isinstance(place, str):
        blob, place = _find_data(place, needed_bytes, named_data, where), 0
    if not 0 <= place <= len(blob) or needed_bytes > len(blob) - place:
        raise InvalidGraphError(
            f"{where}: {needed_bytes} bytes at {place} lie outside of the {len(blob)} bytes of constants"
        )
    constant: Array = np.ndarray(value.shape, DTYPES[value.dtype].newbyteorder("<"), blob, place)
    return constant


def _find_data(key: str, needed_bytes: int, named_data: Mapping[str, memoryview], where: str) -> memoryview:
    if key not in named_data:
        raise MissingDataError(
            f"{where}: the program has no data {key!r}; load it together with the .ptd file of its export"
        )
    data = named_data[key].cast("B").toreadonly()
    if len(data) != needed_bytes or key_of(data) != key:
        raise DamagedPayloadError(f"{where}: the data {key!r} are not those of the export; copy them again")
    return data
