"""The payload of a delegate, as the ahead-of-time half writes it and `native/graph.cpp` reads it.

All numbers are little-endian integers of 32 bits, but for the constants:

    magic           four letters; choose your own
    format version
    checksum        the CRC-32 of everything that follows
    values, inputs, constants, steps, outputs: how many there are of each
    values          the shape of each: its rank, then its sizes
    inputs          the values that the caller passes
    constants       the values that are stored below
    steps           operation, number of inputs, inputs, output
    outputs         the values that the caller gets
    data            the constants as float32, one after another

The checksum detects damage, but not forgery, so the library verifies everything that it reads.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from example_cpp.ops import NUMBERS, Shape

Array: TypeAlias = "npt.NDArray[np.float32]"

MAGIC = b"ECPP"
FORMAT_VERSION = 1


class Step(NamedTuple):
    """One operation.

    Attributes:
        name: An operation of `example_cpp.ops`.
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
    """

    shapes: tuple[Shape, ...]
    inputs: tuple[int, ...]
    constants: Mapping[int, Array]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]


def encode(graph: Graph) -> bytes:
    """Write `graph` as a payload; equal graphs give equal bytes."""
    numbers = list(_numbers(graph))
    data = b"".join(array.astype("<f4").tobytes() for array in graph.constants.values())
    checked = struct.pack(f"<{len(numbers)}I", *numbers) + data
    return struct.pack("<4sII", MAGIC, FORMAT_VERSION, zlib.crc32(checked)) + checked


def _numbers(graph: Graph) -> Iterator[int]:
    for part in (graph.shapes, graph.inputs, graph.constants, graph.steps, graph.outputs):
        yield len(part)
    for shape in graph.shapes:
        yield from (len(shape), *shape)
    yield from graph.inputs
    yield from graph.constants
    for step in graph.steps:
        yield from (NUMBERS[step.name], len(step.inputs), *step.inputs, step.output)
    yield from graph.outputs
