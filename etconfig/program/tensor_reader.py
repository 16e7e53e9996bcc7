"""Tensors of a program: layouts of stored data, and metadata whose shapes and memory are verified."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from etconfig.base.scalar_types import MAX_RANK, ScalarType, is_permutation
from etconfig.flatbuffer.layout import I32, U8
from etconfig.program import program_tables
from etconfig.program.cursor import Cursor
from etconfig.program.model import AllocationDetails, DeviceType, SerializedTensor, TensorShapeDynamism
from etconfig.program.payload_reader import Payloads
from etconfig.program.program_errors import known, malformed, missing_field, unsupported

_SCALAR_TYPES = {member.value: member for member in ScalarType}

MAX_TENSOR_BYTES = (1 << 63) - 1
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


_DYNAMISMS = {member.value: member for member in TensorShapeDynamism}
_DEVICE_TYPES = {member.value: member for member in DeviceType}
_IS_EXTERNAL = {0: False, 1: True}
"""By TensorDataLocation: SEGMENT, EXTERNAL."""


class TensorReader:
    """Reads the tensors of one plan.

    Args:
        cursor: Reads the program's tables.
        payloads: The extents of constants and initial states.
        non_const_buffer_sizes: The sizes in bytes of the plan's memory, by `memory_id`.

    Attributes:
        memory_sizes: `non_const_buffer_sizes`.
        constants: The extents of the program's constants.
    """

    def __init__(self, cursor: Cursor, payloads: Payloads, non_const_buffer_sizes: Sequence[int]) -> None:
        self._cursor = cursor
        self._payloads = payloads
        self.memory_sizes = non_const_buffer_sizes
        self.constants = payloads.constants
        # memory 0 is reserved, and its size has no meaning
        self._memory_ids = range(1, len(non_const_buffer_sizes))

    def read(self, table: int) -> SerializedTensor:
        """Read the tensor at `table`.

        Raises:
            ProgramError: it is malformed, or its memory does not exist.
        """
        cursor = self._cursor
        scalar_type, storage_offset, sizes, dim_order, data_buffer_idx, allocation, dynamism, extra = (
            cursor.table(table, program_tables.TENSOR)
        )
        if storage_offset:
            detail = (
                f"only tensors at offset 0 of their storage are supported, this one is at {storage_offset}"
            )
            raise unsupported("unsupported-storage-offset", "storage_offset", detail, offset=table)
        place = None
        if allocation:
            memory_id, low, high = cursor.table(allocation, program_tables.ALLOCATION_DETAILS)
            place = AllocationDetails(memory_id, high << 32 | low)
        tensor = SerializedTensor(
            known(_SCALAR_TYPES, scalar_type, "scalar_type"),
            cursor.numbers(sizes, I32, "sizes"),
            cursor.numbers(dim_order, U8, "dim_order"),
            data_buffer_idx,
            place,
            known(_DYNAMISMS, dynamism, "shape_dynamism"),
            *(self._read_extra(extra) if extra else ()),
        )
        check_shape(tensor.sizes, tensor.dim_order, table)
        self._check_memory(tensor, table)
        return tensor

    def _read_extra(self, table: int) -> tuple[int, str | None, bool, DeviceType, int]:
        index, name, location, device_type, device_index = self._cursor.table(
            table, program_tables.EXTRA_TENSOR_INFO
        )
        external = known(_IS_EXTERNAL, location, "location")
        if external and not name:
            raise missing_field("fully_qualified_name")
        return (
            index,
            self._cursor.string(name, "fully_qualified_name") if name else None,
            external,
            known(_DEVICE_TYPES, device_type, "device_type"),
            device_index,
        )

    def _check_memory(self, tensor: SerializedTensor, table: int) -> None:
        """Check that the memory that the tensor names exists and is large enough."""
        index, allocation = tensor.data_buffer_idx, tensor.allocation_info
        has_data = index > 0 and not tensor.external
        if allocation is None and not has_data and tensor.shape_dynamism is not TensorShapeDynamism.STATIC:
            return  # the caller provides memory of the size that it needs: the bounds may be astronomic
        is_stored = index > 0 or tensor.external
        check_span(tensor.sizes, tensor.scalar_type, table)
        is_unbounded = tensor.shape_dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND
        # the sizes of an unbounded tensor have no meaning, unless its data are stored in a file
        size_bytes = 0 if is_unbounded and not is_stored else tensor.size_bytes
        if allocation is not None:
            self._check_planned(allocation, size_bytes, table)
            if has_data:
                self._payloads.mutable_initial_data(tensor.mutable_data_segments_idx, index, size_bytes)
        elif has_data:
            start = self._payloads.constant(index, size_bytes).start
            if start % tensor.scalar_type.itemsize_bytes:
                detail = f"the data of constant {index} are not aligned to {tensor.scalar_type.dtype_name}"
                raise malformed("misaligned", "data_buffer_idx", detail, offset=start)

    def _check_planned(self, allocation: AllocationDetails, size_bytes: int, table: int) -> None:
        memory_id, offset = allocation
        if memory_id not in self._memory_ids:
            detail = f"memory {memory_id} is not planned, only 1 to {len(self.memory_sizes) - 1} are"
            raise malformed("bad-memory-plan", "allocation_info", detail, offset=table)
        if offset + size_bytes > self.memory_sizes[memory_id]:
            detail = (
                f"bytes {offset} to {offset + size_bytes} of memory {memory_id} are planned, "
                f"which has {self.memory_sizes[memory_id]} bytes"
            )
            raise malformed("bad-memory-plan", "allocation_info", detail, offset=table)
