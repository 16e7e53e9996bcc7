"""`TensorLayout`, the type and shape of stored data, and the checks that every shape must pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from etconfig.base.scalar_types import MAX_RANK, ScalarType, is_permutation
from etconfig.flatbuffer.layout import I32, U8
from etconfig.program.cursor import Cursor
from etconfig.program.program_errors import known, malformed

_SCALAR_TYPES = {member.value: member for member in ScalarType}
MAX_TENSOR_BYTES = 2**63 - 1
"""The largest size that numpy, and every 64-bit runtime, can count."""

_ROW_MAJOR = tuple(tuple(range(rank)) for rank in range(MAX_RANK + 1))


class TensorLayout(NamedTuple):
    """The element type of stored data, its sizes, and the order of its dimensions in memory."""

    scalar_type: ScalarType
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        """The size of the data."""
        return math.prod(self.sizes) * self.scalar_type.itemsize_bytes

    def __str__(self) -> str:
        order = "" if self.dim_order == _ROW_MAJOR[len(self.sizes)] else f" in dim order {self.dim_order}"
        return f"{self.scalar_type.dtype_name} {self.sizes}{order}"


def read_tensor_layout(
    cursor: Cursor, table: int, scalar_type: int, sizes: int, dim_order: int
) -> TensorLayout:
    """Read the layout in a table.

    Args:
        cursor: Reads the tables.
        table: The table's position, for errors.
        scalar_type: The number in its field `scalar_type`.
        sizes: The position of its vector of sizes.
        dim_order: The position of its dim order.

    Raises:
        ProgramError: it does not describe a shape.
    """
    layout = TensorLayout(
        known(_SCALAR_TYPES, scalar_type, "scalar_type"),
        cursor.numbers(sizes, I32, "sizes"),
        cursor.numbers(dim_order, U8, "dim_order"),
    )
    check_shape(layout.sizes, layout.dim_order, table)
    check_span(layout.sizes, layout.scalar_type, table)
    return layout


def check_span(sizes: Sequence[int], scalar_type: ScalarType, offset: int) -> None:
    """Check that every element of the tensor in the table at `offset` has an address of 63 bits.

    A size of 0 counts as 1, because strides are products of the other sizes; numpy refuses such arrays, too.

    Raises:
        MalformedProgramError: it takes too many bytes.
    """
    count = math.prod(sizes) or math.prod(size or 1 for size in sizes)
    if count * scalar_type.itemsize_bytes > MAX_TENSOR_BYTES:
        detail = f"{list(sizes)} takes 2**63 bytes or more"
        raise malformed("tensor-too-large", "sizes", detail, offset=offset)


def check_shape(sizes: Sequence[int], dim_order: Sequence[int], offset: int) -> None:
    """Check that sizes and dim order, in the table at `offset`, describe a shape.

    Raises:
        MalformedProgramError: they do not.
    """
    if len(sizes) > MAX_RANK:
        detail = f"the tensor has {len(sizes)} dimensions, at most {MAX_RANK} are supported"
        raise malformed("rank-too-large", "sizes", detail, offset=offset)
    if sizes and min(sizes) < 0:
        raise malformed("negative-size", "sizes", f"{list(sizes)} holds a negative size", offset=offset)
    if dim_order == _ROW_MAJOR[len(sizes)]:
        return
    if len(dim_order) != len(sizes) or not is_permutation(dim_order):
        detail = f"{list(dim_order)} is not a permutation of the tensor's {len(sizes)} dimensions"
        raise malformed("bad-dim-order", "dim_order", detail, offset=offset)
