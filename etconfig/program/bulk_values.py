"""Reads the values of one plan by columns: what occurs by the thousand at once, the rest one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from etconfig.program import layout
from etconfig.program.columns import Columns, Vectors, make_sure
from etconfig.program.cursor import Extent
from etconfig.program.layout import I32, I64, U8, KernelTypes, Layout
from etconfig.program.model import (
    AllocationDetails,
    Bool,
    DeviceType,
    Double,
    EValue,
    Int,
    IntList,
    Tensor,
    TensorShapeDynamism,
)
from etconfig.values import MAX_RANK, ScalarType

if TYPE_CHECKING:
    from etconfig.program.columns import Column

_SCALARS: dict[int, tuple[Layout, type]] = {
    KernelTypes.INT: (layout.INT, Int),
    KernelTypes.BOOL: (layout.BOOL_VALUE, Bool),
    KernelTypes.DOUBLE: (layout.DOUBLE, Double),
}
_SCALAR_TYPES = {member.value: member for member in ScalarType}
_ITEMSIZES_BYTES = [
    _SCALAR_TYPES[number].itemsize_bytes if number in _SCALAR_TYPES else 0
    for number in range(max(_SCALAR_TYPES) + 1)
]
"""By the scalar type's number."""
_DYNAMISMS = {member.value: member for member in TensorShapeDynamism}
_WIDEST_BYTES = max(each.itemsize_bytes for each in ScalarType)
_MOST_BYTES = 2.0**52
"""Up to here, the product of a tensor's sizes is exact in float64."""


class BulkValues:
    """Reads the values of one plan. Whatever is unusual is a DoubtError, or left to `read_one`.

    Args:
        columns: Reads the program's tables.
        memory_sizes: The sizes in bytes of the plan's memory, by `memory_id`.
        constants: Where the program's constants lie, by `data_buffer_idx`.
        read_one: Reads one value: its type, and the position of its contents.
    """

    def __init__(
        self,
        columns: Columns,
        memory_sizes: Sequence[int],
        constants: Sequence[Extent],
        read_one: Callable[[int, int], EValue],
    ) -> None:
        self._columns = columns
        self._numpy = columns.numpy
        self._memory_sizes = memory_sizes
        self._constants = constants
        self._read_one = read_one

    def read(self, types: Column, contents: Column) -> tuple[EValue, ...]:
        """The values whose types and contents these are.

        Raises:
            DoubtError: something may be malformed.
            ProgramError: something is.
        """
        values: list[EValue] = [None] * len(types)
        indices = self._numpy.arange(len(types))
        for value_type, rows in self._columns.groups(types):
            places = contents[rows]
            found: Sequence[EValue]
            if value_type == KernelTypes.NULL:
                continue
            if value_type in _SCALARS:
                found = self._scalars(places, *_SCALARS[value_type])
            elif value_type == KernelTypes.TENSOR:
                found = self._tensors(places)
            elif value_type == KernelTypes.INT_LIST:
                found = self._int_lists(places, types)
            else:
                found = [self._read_one(value_type, place) for place in places.tolist()]
            for row, value in zip(indices[rows].tolist(), found, strict=True):
                values[row] = value
        return tuple(values)

    def _scalars(self, places: Column, table: Layout, record: type) -> list[EValue]:
        (numbers,) = self._columns.table(places, table)
        return list(map(partial(tuple.__new__, record), zip(numbers.tolist())))

    def _int_lists(self, places: Column, types: Column) -> list[EValue]:
        (items,) = self._columns.table(places, layout.LIST)
        lists = self._columns.vectors(items, I64)
        for _, elements in lists.by_length():
            self._columns.check((elements >= 0) & (elements < len(types)))
            made = types[elements]
            self._columns.check((made == KernelTypes.INT) | (made == KernelTypes.NULL))
        return list(map(partial(tuple.__new__, IntList), zip(lists.tuples())))

    # --- tensors -------------------------------------------------------------------------

    def _tensors(self, places: Column) -> list[EValue]:
        """Initial states, external tensors and such with extra metadata are few: they are read one by one."""
        rows = _TensorRows(*self._columns.table(places, layout.TENSOR))
        is_static = rows.shape_dynamism == TensorShapeDynamism.STATIC
        is_constant = is_static & (rows.allocation_info == 0)
        is_plain = (rows.extra_tensor_info == 0) & ((rows.data_buffer_idx == 0) | is_constant)
        if is_plain.all():
            return [*self._plain_tensors(rows)]
        plain = iter(self._plain_tensors(_TensorRows(*(column[is_plain] for column in rows))))
        return [
            next(plain) if each else self._read_one(KernelTypes.TENSOR, place)
            for each, place in zip(is_plain.tolist(), places.tolist(), strict=True)
        ]

    def _plain_tensors(self, rows: _TensorRows) -> list[Tensor]:
        self._columns.check(rows.storage_offset == 0)
        if not len(rows.sizes):
            return []
        sizes = self._columns.vectors(rows.sizes, I32)
        dim_orders = self._columns.vectors(rows.dim_order, U8)
        self._check_members(rows.scalar_type, _SCALAR_TYPES)
        self._check_members(rows.shape_dynamism, _DYNAMISMS)
        itemsizes = self._numpy.array(_ITEMSIZES_BYTES)[rows.scalar_type]
        size_bytes = self._size_bytes(sizes, itemsizes, rows)
        self._check_dim_orders(dim_orders, sizes)
        self._check_constants(rows.data_buffer_idx, size_bytes, itemsizes)
        columns = (
            [_SCALAR_TYPES[number] for number in rows.scalar_type.tolist()],
            sizes.tuples(),
            dim_orders.tuples(),
            rows.data_buffer_idx.tolist(),
            self._allocations(rows.allocation_info, size_bytes),
            [_DYNAMISMS[number] for number in rows.shape_dynamism.tolist()],
            *(repeat(default) for default in (0, None, False, DeviceType.CPU, 0)),
        )
        return list(map(partial(tuple.__new__, Tensor), zip(*columns, strict=False)))

    def _check_members(self, numbers: Column, members: Iterable[int]) -> None:
        is_member = self._numpy.zeros(256, bool)
        is_member[[*members]] = True
        self._columns.check(numbers >= 0)
        self._columns.check(is_member[numbers])

    def _size_bytes(self, sizes: Vectors, itemsizes: Column, rows: _TensorRows) -> Column:
        """The bytes that each tensor takes in planned memory; none if its shape is unbounded."""
        numpy = self._numpy
        make_sure(int(sizes.counts.max()) <= MAX_RANK)
        element_counts = numpy.ones(len(sizes.counts))
        for lengths, elements in sizes.by_length():
            self._columns.check(elements >= 0)
            element_counts[lengths] = elements.prod(axis=1, dtype=numpy.float64)
            spans = element_counts if elements.all() else elements.clip(1).prod(axis=1, dtype=numpy.float64)
            self._columns.check(spans * _WIDEST_BYTES < _MOST_BYTES)
        size_bytes: Column = element_counts * itemsizes
        size_bytes[rows.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND] = 0
        return size_bytes

    def _check_dim_orders(self, dim_orders: Vectors, sizes: Vectors) -> None:
        numpy = self._numpy
        self._columns.check(dim_orders.counts == sizes.counts)
        for _, elements in dim_orders.by_length():
            self._columns.check(numpy.sort(elements, axis=1) == numpy.arange(elements.shape[1]))

    def _check_constants(self, indices: Column, size_bytes: Column, itemsizes: Column) -> None:
        """Index 0 is that of tensors without data, and of a placeholder that has none."""
        is_constant = indices > 0
        if not is_constant.any():
            return
        make_sure(int(indices.max()) < len(self._constants))
        starts, available_bytes = self._numpy.array(self._constants)[indices[is_constant]].T
        self._columns.check(size_bytes[is_constant] <= available_bytes)
        self._columns.check(starts % itemsizes[is_constant] == 0)

    def _allocations(self, places: Column, size_bytes: Column) -> list[AllocationDetails | None]:
        numpy = self._numpy
        allocations: list[AllocationDetails | None] = [None] * len(places)
        is_planned = places > 0
        if not is_planned.any():
            return allocations
        memory_ids, low, high = self._columns.table(places[is_planned], layout.ALLOCATION_DETAILS)
        self._columns.check(high < 2**16)
        self._columns.check((memory_ids > 0) & (memory_ids < len(self._memory_sizes)))
        offsets = (high << 32) + low
        ends = offsets + size_bytes[is_planned]
        self._columns.check(ends <= numpy.array(self._memory_sizes)[memory_ids])
        made = map(
            partial(tuple.__new__, AllocationDetails), zip(memory_ids.tolist(), offsets.tolist(), strict=True)
        )
        if is_planned.all():
            return [*made]
        for row, allocation in zip(numpy.flatnonzero(is_planned).tolist(), made, strict=True):
            allocations[row] = allocation
        return allocations


class _TensorRows(NamedTuple):
    """The columns of `layout.TENSOR`."""

    scalar_type: Column
    storage_offset: Column
    sizes: Column
    dim_order: Column
    data_buffer_idx: Column
    allocation_info: Column
    shape_dynamism: Column
    extra_tensor_info: Column
