"""The payload: a versioned, checksummed envelope around a graph.

Little-endian. A fixed header, the graph as JSON, then the constants as raw float32:

    offset  size  field
         0     4  magic `ETRF`
         4     2  format version, 1
         6     2  zero
         8     4  length of the JSON text, J
        12     8  length of the whole payload
        20     4  CRC-32 of every other byte of the payload
        24     J  the graph, UTF-8
     24 + J    …  zeros up to a multiple of 64, then the constants, each at a multiple of 64

The JSON object has five members:

    shapes      [[1, 1, 8, 8], …]          one per value
    inputs      [0]                        indices into shapes
    outputs     [7]
    constants   [[1, 0], [2, 576], …]      value and byte offset, from the first constant on
    operations  [{"name": "conv2d", "inputs": [0, 1, 2], "output": 3, "attributes": {…}}, …]

The checksum finds damage; it is no protection against forgery, so the graph is still
verified before it is used: its structure here, its meaning in `etconfig_reference.plan`.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from etconfig_reference.errors import (
    DamagedPayloadError,
    InvalidGraphError,
    NotAPayloadError,
    PayloadVersionError,
    TruncatedPayloadError,
)
from etconfig_reference.graph import Graph, Operation, Shape

MAGIC = b"ETRF"
FORMAT_VERSION = 1
ALIGNMENT_BYTES = 64
MAX_RANK = 8
MAX_TENSOR_BYTES = 1 << 40

_FIXED = struct.Struct("<4sHHIQ")
_CHECKSUM = struct.Struct("<I")
_FIXED_BYTES = _FIXED.size + _CHECKSUM.size
_FLOAT32 = np.dtype("<f4")


def encode_graph(graph: Graph) -> bytes:
    """Write `graph` as a payload; equal graphs give equal bytes."""
    offsets, blob = _pack_constants(graph.constants)
    header = {
        "shapes": graph.shapes,
        "inputs": graph.inputs,
        "outputs": graph.outputs,
        "constants": offsets,
        "operations": [
            {"name": op.name, "inputs": op.inputs, "output": op.output, "attributes": dict(op.attributes)}
            for op in graph.operations
        ],
    }
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    padding = bytes(-(_FIXED_BYTES + len(text)) % ALIGNMENT_BYTES)
    body = text + padding + blob
    fixed = _FIXED.pack(MAGIC, FORMAT_VERSION, 0, len(text), _FIXED_BYTES + len(body))
    return fixed + _CHECKSUM.pack(zlib.crc32(body, zlib.crc32(fixed))) + body


def decode_graph(data: memoryview) -> Graph:
    """Read a payload.

    The constants are read-only views into `data`, valid as long as `data` is.

    Raises:
        NotAPayloadError: `data` does not begin with the magic.
        PayloadVersionError: the format has another version.
        TruncatedPayloadError: `data` is shorter than the payload says.
        DamagedPayloadError: the checksum does not match.
        InvalidGraphError: the graph is not well formed, or an index is out of range.
    """
    data = data.cast("B").toreadonly()
    text_bytes = _check_envelope(data)
    text_end = _FIXED_BYTES + text_bytes
    constants_at = text_end + -text_end % ALIGNMENT_BYTES
    return _GraphReader(_parse_json(data[_FIXED_BYTES:text_end])).read(data[constants_at:])


def _pack_constants(constants: Mapping[int, npt.NDArray[np.float32]]) -> tuple[list[tuple[int, int]], bytes]:
    offsets = []
    blob = bytearray()
    for value, array in sorted(constants.items()):
        blob += bytes(-len(blob) % ALIGNMENT_BYTES)
        offsets.append((value, len(blob)))
        blob += array.astype(_FLOAT32).tobytes()
    return offsets, bytes(blob)


def _check_envelope(data: memoryview) -> int:
    """Verify the fixed header and the checksum; return the length of the JSON text."""
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise NotAPayloadError(
            f"a payload begins with {MAGIC!r}, this one with {bytes(data[: len(MAGIC)])!r}; "
            "it was not made by etconfig-reference"
        )
    if len(data) < _FIXED_BYTES:
        raise TruncatedPayloadError(f"the header takes {_FIXED_BYTES} bytes, but only {len(data)} are there")
    _, version, zero, text_bytes, total_bytes = _FIXED.unpack_from(data)
    if version != FORMAT_VERSION:
        raise PayloadVersionError(
            f"the payload has format version {version}, this etconfig-reference reads version "
            f"{FORMAT_VERSION}; {'update it' if version > FORMAT_VERSION else 'export the program again'}"
        )
    if len(data) < total_bytes:
        raise TruncatedPayloadError(f"the payload takes {total_bytes} bytes, but only {len(data)} are there")
    (expected,) = _CHECKSUM.unpack_from(data, _FIXED.size)
    found = zlib.crc32(data[_FIXED_BYTES:total_bytes], zlib.crc32(data[: _FIXED.size]))
    if found != expected:
        raise DamagedPayloadError(
            f"the payload's checksum is {found:#010x}, expected {expected:#010x}; export or copy it again"
        )
    if zero != 0 or len(data) != total_bytes or _FIXED_BYTES + text_bytes > total_bytes:
        raise InvalidGraphError("the lengths in the payload's header contradict each other")
    return int(text_bytes)


def _parse_json(text: memoryview) -> dict[str, Any]:
    try:
        header = json.loads(bytes(text))
    except (ValueError, RecursionError) as error:
        raise InvalidGraphError(f"the graph is no JSON text: {error}") from None
    if not isinstance(header, dict):
        raise InvalidGraphError(f"the graph must be a JSON object, not {type(header).__name__}")
    return header


class _GraphReader:
    """Turns the JSON object into a `Graph`; checks types, ranges and sizes on the way."""

    def __init__(self, header: dict[str, Any]) -> None:
        self._header = header
        shapes = self._list(header, "shapes")
        self._shapes = tuple(self._shape(sizes, f"shapes[{i}]") for i, sizes in enumerate(shapes))

    def read(self, blob: memoryview) -> Graph:
        return Graph(
            shapes=self._shapes,
            inputs=self._values(self._header, "inputs"),
            outputs=self._values(self._header, "outputs"),
            constants=self._constants(blob),
            operations=tuple(
                self._operation(entry, f"operations[{i}]")
                for i, entry in enumerate(self._list(self._header, "operations"))
            ),
        )

    def _list(self, table: dict[str, Any], name: str, where: str = "") -> list[Any]:
        value = table.get(name)
        if not isinstance(value, list):
            raise InvalidGraphError(f"{where}{name} must be a list, not {type(value).__name__}")
        return value

    def _shape(self, sizes: object, where: str) -> Shape:
        shape = _integers(sizes, where)
        is_valid = len(shape) <= MAX_RANK and min(shape, default=1) >= 1
        if not is_valid or math.prod(shape) * _FLOAT32.itemsize > MAX_TENSOR_BYTES:
            raise InvalidGraphError(f"{where} is no shape this plugin computes: {shape}")
        return shape

    def _values(self, table: dict[str, Any], name: str, where: str = "") -> tuple[int, ...]:
        indices = _integers(self._list(table, name, where), where + name)
        for index in indices:
            self._check_value(index, where + name)
        return indices

    def _check_value(self, index: object, where: str) -> int:
        if type(index) is not int or not 0 <= index < len(self._shapes):
            raise InvalidGraphError(
                f"{where}: there is no value {index!r}, only 0 to {len(self._shapes) - 1}"
            )
        return index

    def _constants(self, blob: memoryview) -> dict[int, npt.NDArray[np.float32]]:
        constants: dict[int, npt.NDArray[np.float32]] = {}
        for i, entry in enumerate(self._list(self._header, "constants")):
            where = f"constants[{i}]"
            pair = _integers(entry, where)
            if len(pair) != 2:
                raise InvalidGraphError(f"{where} must be a value and an offset, not {len(pair)} numbers")
            value, offset = self._check_value(pair[0], where), pair[1]
            if value in constants:
                raise InvalidGraphError(f"{where}: value {value} has data already")
            constants[value] = _view_constant(blob, offset, self._shapes[value], where)
        return constants

    def _operation(self, entry: object, where: str) -> Operation:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise InvalidGraphError(f"{where} must be an object with a name")
        attributes = entry.get("attributes")
        if not isinstance(attributes, dict):
            raise InvalidGraphError(f"{where}.attributes must be an object")
        return Operation(
            name=entry["name"],
            inputs=self._values(entry, "inputs", f"{where}."),
            output=self._check_value(entry.get("output"), f"{where}.output"),
            attributes={
                key: _integers(value, f"{where}.attributes.{key}") for key, value in attributes.items()
            },
        )


def _integers(value: object, where: str) -> tuple[int, ...]:
    # bool is a subclass of int, but true is no number in JSON
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise InvalidGraphError(f"{where} must be a list of integers")
    return tuple(value)


def _view_constant(blob: memoryview, offset: int, shape: Shape, where: str) -> npt.NDArray[np.float32]:
    needed_bytes = math.prod(shape) * _FLOAT32.itemsize
    if not 0 <= offset <= len(blob) or needed_bytes > len(blob) - offset:
        raise InvalidGraphError(
            f"{where}: {needed_bytes} bytes at {offset} lie outside of the {len(blob)} bytes of constants"
        )
    constant: npt.NDArray[np.float32] = np.ndarray(shape, _FLOAT32, blob, offset)
    return constant
