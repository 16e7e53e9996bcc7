"""The payload of a delegate: a graph in a versioned envelope with a checksum.

It is little-endian: a header, the graph as JSON, then the constants as float32, one after another:

    offset  size  field
         0     4  magic; choose four letters of your own
         4     4  format version
         8     4  CRC-32 of everything that follows
        12     4  length of the JSON text, J
        16     J  {"shapes": [[2, 3], ...], "inputs": [0], "constants": [1],
                   "steps": [["add", [0, 1], 2], ...], "outputs": [2]}
    16 + J     …  the constants, in the order of "constants"

Values are numbered, and `shapes` has one entry for each. The checksum detects damage, but not
forgery, so the decoded graph is verified before it is used.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from etconfig.plugin.v1 import DelegateInvalidCompatibilityError

from example_npu.ops import Shape, shape_of_result

Array: TypeAlias = "npt.NDArray[np.float32]"

MAGIC = b"ENPU"
FORMAT_VERSION = 1
MAX_RANK = 8
MAX_VALUES = 100_000
MAX_TENSOR_BYTES = 1 << 40

_HEADER = struct.Struct("<4sIII")
_CHECKED_FROM = 12
_FLOAT32 = np.dtype("<f4")


class PayloadError(ValueError):
    """The payload cannot be used; the message says why."""


class Step(NamedTuple):
    """One operation.

    Attributes:
        name: An operation of `example_npu.ops`.
        inputs: The values that it reads.
        output: The value that it computes.
    """

    name: str
    inputs: tuple[int, ...]
    output: int


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The computation of one delegate. A value is an index into `shapes`.

    Attributes:
        shapes: The shape of each value.
        inputs: The values that the caller passes, in this order.
        constants: The values stored in the payload.
        steps: The operations, in execution order.
        outputs: The values that the caller gets, in this order.

    Raises:
        PayloadError: a value is used before it is computed, is computed twice, or does not have
            the shape that its operation computes.
    """

    shapes: tuple[Shape, ...]
    inputs: tuple[int, ...]
    constants: Mapping[int, Array]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        known: set[int] = set()
        self._define((*self.inputs, *self.constants), known, "inputs and constants")
        for index, step in enumerate(self.steps):
            where = f"steps[{index}]"
            self._check_known(step.inputs, known, where)
            self._define((step.output,), known, where)
            try:
                shape = shape_of_result(step.name, [self.shapes[value] for value in step.inputs])
            except ValueError as error:
                raise PayloadError(f"{where}: {error}") from None
            if shape != self.shapes[step.output]:
                raise PayloadError(
                    f"{where}: {step.name} computes {shape}, not {self.shapes[step.output]}"
                )
        self._check_known(self.outputs, known, "outputs")

    def _define(self, values: tuple[int, ...], known: set[int], where: str) -> None:
        for value in values:
            if value in known or not 0 <= value < len(self.shapes):
                raise PayloadError(f"{where}: {value} is not a value, or is already defined")
            known.add(value)

    def _check_known(self, values: tuple[int, ...], known: set[int], where: str) -> None:
        for value in values:
            if value not in known:
                raise PayloadError(f"{where}: value {value} is used before it is computed")


def encode(graph: Graph) -> bytes:
    """Write `graph` as a payload; equal graphs give equal bytes."""
    text = json.dumps(
        {
            "shapes": graph.shapes,
            "inputs": graph.inputs,
            "constants": list(graph.constants),
            "steps": graph.steps,
            "outputs": graph.outputs,
        },
        separators=(",", ":"),
    ).encode()
    constants = b"".join(array.astype(_FLOAT32).tobytes() for array in graph.constants.values())
    checked = struct.pack("<I", len(text)) + text + constants
    return struct.pack("<4sII", MAGIC, FORMAT_VERSION, zlib.crc32(checked)) + checked


def decode(data: memoryview) -> Graph:
    """Read a payload. The constants are views into `data`.

    Raises:
        DelegateInvalidCompatibilityError: it has another version.
        PayloadError: it is not a payload, is damaged, or its graph is invalid.
    """
    text_bytes = _check_envelope(data)
    text_end = _HEADER.size + text_bytes
    try:
        header = json.loads(bytes(data[_HEADER.size : text_end]))
        shapes = tuple(_shape(sizes) for sizes in header["shapes"])
        inputs, outputs = _integers(header["inputs"]), _integers(header["outputs"])
        stored = _integers(header["constants"])
        steps = tuple(_step(entry) for entry in header["steps"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise PayloadError(f"the payload's graph is malformed: {error}") from None
    if len(shapes) > MAX_VALUES:
        raise PayloadError(f"the payload has {len(shapes)} values, more than {MAX_VALUES}")
    constants = _view_constants(data[text_end:], stored, shapes)
    return Graph(shapes=shapes, inputs=inputs, constants=constants, steps=steps, outputs=outputs)


def _check_envelope(data: memoryview) -> int:
    """Verify the header and the checksum, and return the length of the JSON text."""
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise PayloadError(f"a payload of example-npu begins with {MAGIC!r}, this one does not")
    if len(data) < _HEADER.size:
        raise PayloadError(f"the payload has {len(data)} bytes, its header needs {_HEADER.size}")
    _, version, checksum, text_bytes = _HEADER.unpack_from(data)
    if version != FORMAT_VERSION:
        raise DelegateInvalidCompatibilityError(
            cause=f"the payload has format version {version}, this example-npu reads {FORMAT_VERSION}",
            help="update example-npu" if version > FORMAT_VERSION else "export the program again",
        )
    if zlib.crc32(data[_CHECKED_FROM:]) != checksum:
        raise PayloadError("the payload is damaged: its checksum does not match; export it again")
    return int(text_bytes)


def _view_constants(
    data: memoryview, values: tuple[int, ...], shapes: tuple[Shape, ...]
) -> dict[int, Array]:
    constants: dict[int, Array] = {}
    start = 0
    for value in values:
        if value in constants or not 0 <= value < len(shapes):
            raise PayloadError(f"constants: {value} is not a value, or is already defined")
        end = start + math.prod(shapes[value]) * _FLOAT32.itemsize
        if end > len(data):
            raise PayloadError(f"constants: value {value} extends beyond the end of the payload")
        constants[value] = np.frombuffer(data[start:end], _FLOAT32).reshape(shapes[value])
        start = end
    if start != len(data):
        raise PayloadError(f"there are {len(data) - start} bytes after the constants")
    return constants


def _integers(items: Any) -> tuple[int, ...]:
    # bool is a subclass of int, but JSON distinguishes the two
    if not isinstance(items, list) or any(type(item) is not int for item in items):
        raise ValueError(f"expected a list of integers, found {str(items)[:40]}")
    return tuple(items)


def _shape(sizes: Any) -> Shape:
    shape = _integers(sizes)
    if len(shape) > MAX_RANK or min(shape, default=1) < 1:
        raise ValueError(f"{shape[: MAX_RANK + 1]} is not a valid shape")
    if math.prod(shape) * _FLOAT32.itemsize > MAX_TENSOR_BYTES:
        raise ValueError(f"a tensor of {shape} is too large")
    return shape


def _step(entry: Any) -> Step:
    name, inputs, output = entry
    return Step(str(name), _integers(inputs), *_integers([output]))
