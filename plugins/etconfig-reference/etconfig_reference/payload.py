"""The payload: a versioned, checksummed envelope around a graph.

Little-endian. A fixed header, the graph as JSON, then the raw constants:

    offset  size  field
         0     4  magic `ETRF`
         4     2  format version, 2
         6     2  zero
         8     4  length of the JSON text, J
        12     8  length of the whole payload
        20     4  CRC-32 of every other byte of the payload
        24     J  the graph, UTF-8
     24 + J    …  zeros up to a multiple of 64, then the constants, each at a multiple of 64

The JSON object has five members:

    values      [{"dtype": "float32", "shape": [8, 3], "dynamic": [0]}, …]
    inputs      [0]                        indices into values
    outputs     [7]
    constants   [[1, 0], [2, 576], …]      value and byte offset, from the first constant on;
                                           or value and key of the program's named data
    operations  [{"name": "conv2d", "inputs": [0, 1, 2], "output": 3, "attributes": {…}}, …]

The checksum detects damage, but not forgery, so the graph is still verified before it is used: its
structure here, its meaning in `etconfig_reference.plan`.

A change that an older release would misread gets a new version; every version is read as long as
programs with it may be in use. Version 1 had `shapes` instead of `values`: float32, not dynamic. A
reader refuses unknown versions with an error that says so, before it reads anything else.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from etconfig.plugin.v1 import DelegateInvalidCompatibilityError
from etconfig_reference.constants import ALIGNMENT_BYTES, Place, Store, pack_constants, view_constant
from etconfig_reference.errors import (
    DamagedPayloadError,
    InvalidGraphError,
    NotAPayloadError,
    TruncatedPayloadError,
)
from etconfig_reference.graph import DTYPES, Array, Graph, Operation, Shape, ValueType

MAGIC = b"ETRF"
FORMAT_VERSION = 2
"""The version that `encode_graph` writes."""

OLDEST_VERSION = 1
"""The oldest version that `decode_graph` reads."""

MAX_RANK = 8
MAX_TENSOR_BYTES = 1 << 40

_FIXED = struct.Struct("<4sHHIQ")
_CHECKSUM = struct.Struct("<I")
_FIXED_BYTES = _FIXED.size + _CHECKSUM.size


def encode_graph(graph: Graph, store: Store | None = None) -> bytes:
    """Write `graph` as a payload; equal graphs give equal bytes.

    Args:
        graph: The graph to write.
        store: Stores constants in the program's named data instead of the payload.
    """
    places, blob = pack_constants(graph.constants, store)
    header = {
        "values": [asdict(value) for value in graph.values],
        "inputs": graph.inputs,
        "outputs": graph.outputs,
        "constants": places,
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


def decode_graph(data: memoryview, named_data: Mapping[str, memoryview] | None = None) -> Graph:
    """Read a payload.

    The constants are read-only views into `data` and `named_data`, valid as long as these are.

    Raises:
        NotAPayloadError: `data` does not begin with the magic.
        DelegateInvalidCompatibilityError: the format has another version.
        TruncatedPayloadError: `data` is shorter than the payload says.
        DamagedPayloadError: the checksum of the payload or of named data does not match.
        MissingDataError: a constant's key is not in `named_data`.
        InvalidGraphError: the graph is not well formed, or an index is out of range.
    """
    data = data.cast("B").toreadonly()
    version, text_bytes = _check_envelope(data)
    text_end = _FIXED_BYTES + text_bytes
    header = _parse_json(data[_FIXED_BYTES:text_end])
    if version == 1:
        header["values"] = [
            {"dtype": "float32", "shape": shape, "dynamic": []} for shape in _list(header, "shapes")
        ]
    constants_at = text_end + -text_end % ALIGNMENT_BYTES
    return _GraphReader(header).read(data[constants_at:], named_data or {})


def operators_of(data: memoryview) -> dict[str, int]:
    """Return the number of operations of a payload by name, without reading its constants.

    Raises:
        PayloadError, DelegateInvalidCompatibilityError: as from `decode_graph`.
    """
    _, text_bytes = _check_envelope(data)
    operations = _list(_parse_json(data[_FIXED_BYTES : _FIXED_BYTES + text_bytes]), "operations")
    if not all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in operations):
        raise InvalidGraphError("operations must be objects with a name")
    return dict(sorted(Counter(each["name"] for each in operations).items()))


def _check_envelope(data: memoryview) -> tuple[int, int]:
    """Verify the fixed header and the checksum; return the version and the length of the JSON text."""
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise NotAPayloadError(
            f"a payload begins with {MAGIC!r}, this one with {bytes(data[: len(MAGIC)])!r}; "
            "it was not made by etconfig-reference"
        )
    if len(data) < _FIXED_BYTES:
        raise TruncatedPayloadError(f"the header takes {_FIXED_BYTES} bytes, but only {len(data)} are there")
    _, version, zero, text_bytes, total_bytes = _FIXED.unpack_from(data)
    if not OLDEST_VERSION <= version <= FORMAT_VERSION:
        raise DelegateInvalidCompatibilityError(
            cause=f"the payload has format version {version}, this etconfig-reference reads versions "
            f"{OLDEST_VERSION} to {FORMAT_VERSION}",
            help="update it" if version > FORMAT_VERSION else "export the program again",
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
    return int(version), int(text_bytes)


def _parse_json(text: memoryview) -> dict[str, Any]:
    try:
        header = json.loads(bytes(text))
    except (ValueError, RecursionError) as error:
        raise InvalidGraphError(f"the graph is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise InvalidGraphError(f"the graph must be a JSON object, not {type(header).__name__}")
    return header


class _GraphReader:
    """Turns the JSON object into a `Graph`, and checks types, ranges and sizes."""

    def __init__(self, header: dict[str, Any]) -> None:
        self._header = header
        self._types = tuple(_value_type(v, f"values[{i}]") for i, v in enumerate(_list(header, "values")))

    def read(self, blob: memoryview, named_data: Mapping[str, memoryview]) -> Graph:
        return Graph(
            values=self._types,
            inputs=self._values(self._header, "inputs"),
            outputs=self._values(self._header, "outputs"),
            constants=self._constants(blob, named_data),
            operations=tuple(
                self._operation(entry, f"operations[{i}]")
                for i, entry in enumerate(_list(self._header, "operations"))
            ),
        )

    def _values(self, table: dict[str, Any], name: str, where: str = "") -> tuple[int, ...]:
        indices = _integers(_list(table, name, where), where + name)
        for index in indices:
            self._check_value(index, where + name)
        return indices

    def _check_value(self, index: object, where: str) -> int:
        if type(index) is not int or not 0 <= index < len(self._types):
            raise InvalidGraphError(f"{where}: there is no value {index!r}, only 0 to {len(self._types) - 1}")
        return index

    def _constants(self, blob: memoryview, named_data: Mapping[str, memoryview]) -> dict[int, Array]:
        constants: dict[int, Array] = {}
        for i, entry in enumerate(_list(self._header, "constants")):
            where = f"constants[{i}]"
            value, place = self._placed(entry, where)
            if value in constants:
                raise InvalidGraphError(f"{where}: value {value} has data already")
            constants[value] = view_constant(place, self._types[value], blob, named_data, where)
        return constants

    def _placed(self, entry: object, where: str) -> tuple[int, Place]:
        if not isinstance(entry, list) or len(entry) != 2 or type(entry[1]) not in (int, str):
            raise InvalidGraphError(f"{where} must be a value and an offset or key, not {entry!r:.80}")
        return self._check_value(entry[0], where), entry[1]

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


def _value_type(entry: object, where: str) -> ValueType:
    if not isinstance(entry, dict) or str(entry.get("dtype")) not in DTYPES:
        raise InvalidGraphError(f"{where} must be an object with a dtype of {', '.join(DTYPES)}")
    shape = _shape(entry.get("shape"), where, DTYPES[entry["dtype"]].itemsize)
    dynamic = _integers(entry.get("dynamic"), f"{where}.dynamic")
    if not set(dynamic) <= set(range(len(shape))):
        raise InvalidGraphError(f"{where}.dynamic: {list(dynamic)} are not dimensions of {shape}")
    return ValueType(shape=shape, dtype=entry["dtype"], dynamic=dynamic)


def _shape(sizes: object, where: str, item_bytes: int) -> Shape:
    shape = _integers(sizes, f"{where}.shape")
    is_valid = len(shape) <= MAX_RANK and min(shape, default=0) >= 0
    if not is_valid or math.prod(size or 1 for size in shape) * item_bytes > MAX_TENSOR_BYTES:
        raise InvalidGraphError(f"{where}.shape is none this plugin computes: {shape}")
    return shape


def _list(table: dict[str, Any], name: str, where: str = "") -> list[Any]:
    value = table.get(name)
    if not isinstance(value, list):
        raise InvalidGraphError(f"{where}{name} must be a list, not {type(value).__name__}")
    return value


def _integers(value: object, where: str) -> tuple[int, ...]:
    # bool is a subclass of int, but JSON distinguishes the two
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise InvalidGraphError(f"{where} must be a list of integers")
    return tuple(value)
