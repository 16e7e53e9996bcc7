"""Reads a tensor's metadata, and verifies its shape and that its memory exists."""

from __future__ import annotations

from collections.abc import Sequence

from etconfig.base.scalar_types import ScalarType
from etconfig.flatbuffer.layout import I32, U8
from etconfig.program import layout
from etconfig.program.cursor import Cursor
from etconfig.program.model import AllocationDetails, DeviceType, SerializedTensor, TensorShapeDynamism
from etconfig.program.payload_reader import Payloads
from etconfig.program.program_errors import known, malformed, missing_field, unsupported
from etconfig.program.tensor_layout import check_shape, check_span

_SCALAR_TYPES = {member.value: member for member in ScalarType}
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
            cursor.table(table, layout.TENSOR)
        )
        if storage_offset:
            detail = (
                f"only tensors at offset 0 of their storage are supported, this one is at {storage_offset}"
            )
            raise unsupported("unsupported-storage-offset", "storage_offset", detail, offset=table)
        tensor = SerializedTensor(
            known(_SCALAR_TYPES, scalar_type, "scalar_type"),
            cursor.numbers(sizes, I32, "sizes"),
            cursor.numbers(dim_order, U8, "dim_order"),
            data_buffer_idx,
            self._read_allocation(allocation) if allocation else None,
            known(_DYNAMISMS, dynamism, "shape_dynamism"),
            *(self._read_extra(extra) if extra else ()),
        )
        check_shape(tensor.sizes, tensor.dim_order, table)
        self._check_memory(tensor, table)
        return tensor

    def _read_allocation(self, table: int) -> AllocationDetails:
        memory_id, low, high = self._cursor.table(table, layout.ALLOCATION_DETAILS)
        return AllocationDetails(memory_id, high << 32 | low)

    def _read_extra(self, table: int) -> tuple[int, str | None, bool, DeviceType, int]:
        index, name, location, device_type, device_index = self._cursor.table(table, layout.EXTRA_TENSOR_INFO)
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
