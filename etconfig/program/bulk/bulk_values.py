"""Reads the values of one plan by columns: the frequent types at once, the rest one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from etconfig.base.scalar_types import MAX_RANK, ScalarType
from etconfig.flatbuffer.layout import I32, I64, U8, Layout
from etconfig.program import program_tables
from etconfig.program.bulk.shared_values import SharedValues
from etconfig.program.bulk.table_columns import Columns, Vectors, make_sure
from etconfig.program.cursor import Extent
from etconfig.program.model import (
    AllocationDetails,
    Bool,
    DeviceType,
    Double,
    EValue,
    Int,
    IntList,
    SerializedTensor,
    TensorShapeDynamism,
)
from etconfig.program.program_tables import KernelTypes

if TYPE_CHECKING:
    from etconfig.program.bulk.table_columns import Column

    _Found: TypeAlias = tuple[list[EValue], Column]
    """The distinct values, and for each row the index of its value among them."""

_NULL, _INT, _BOOL, _DOUBLE, _TENSOR, _INT_LIST = (
    each.value
    for each in (
        KernelTypes.NULL,
        KernelTypes.INT,
        KernelTypes.BOOL,
        KernelTypes.DOUBLE,
        KernelTypes.TENSOR,
        KernelTypes.INT_LIST,
    )
)
_STATIC, _UNBOUND = TensorShapeDynamism.STATIC.value, TensorShapeDynamism.DYNAMIC_UNBOUND.value
"""Plain numbers: numpy compares with them five times as fast as with members of an enumeration."""

_SCALARS: dict[int, tuple[Layout, type]] = {
    _INT: (program_tables.INT, Int),
    _BOOL: (program_tables.BOOL_VALUE, Bool),
    _DOUBLE: (program_tables.DOUBLE, Double),
}
_SCALAR_TYPES = {member.value: member for member in ScalarType}
_ITEMSIZES_BYTES = [
    _SCALAR_TYPES[number].itemsize_bytes if number in _SCALAR_TYPES else 0 for number in range(256)
]
"""By the scalar type's number; 0 if there is no such type."""
_DYNAMISMS = {member.value: member for member in TensorShapeDynamism}
_WIDEST_BYTES = max(each.itemsize_bytes for each in ScalarType)
_MOST_BYTES = 2.0**52
"""Up to this bound, the product of a tensor's sizes is exact in float64."""


class BulkValues:
    """Reads the values of one plan. Unusual values are left to `read_one`, suspicious ones are a DoubtError.

    Args:
        columns: Reads the program's tables.
        memory_sizes: The sizes in bytes of the plan's memory, by `memory_id`.
        constants: The extents of the program's constants, by `data_buffer_idx`.
        read_one: Reads one value, from its type and the position of its contents.
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

    def read(self, types: Column, contents: Column) -> SharedValues:
        """Read the values with these types, whose contents lie at these positions.

        Raises:
            DoubtError: something may be malformed.
            ProgramError: something is malformed.
        """
        values: list[EValue] = []
        places = self._numpy.empty(len(types), "i8")
        for value_type, rows in self._columns.groups(types):
            found, kinds = self._of_type(value_type, contents[rows], types)
            places[rows] = kinds + len(values)
            values += found
        return SharedValues.of(values, places.tolist())

    def _of_type(self, value_type: int, places: Column, types: Column) -> _Found:
        """Read the values of one type, which lie at `places`; `types` are the types of all values."""
        if value_type == _NULL:
            return [None], self._numpy.zeros(len(places), "i8")
        if value_type in _SCALARS:
            return self._scalars(places, *_SCALARS[value_type])
        if value_type == _TENSOR:
            return self._tensors(places)
        if value_type == _INT_LIST:
            return self._different(self._int_lists(places, types))
        return self._different([self._read_one(value_type, place) for place in places.tolist()])

    def _different(self, values: list[EValue]) -> _Found:
        """Return values as if all were distinct; looking for equal ones is not worth the time here."""
        return values, self._numpy.arange(len(values))

    def _scalars(self, places: Column, table: Layout, record: type) -> _Found:
        (numbers,) = self._columns.table(places, table)
        bits = numbers.view("i8") if record is Double else numbers  # the bits of 0.0 and -0.0 differ
        firsts, kinds = self._columns.distinct([bits])
        return [record(number) for number in numbers[firsts].tolist()], kinds

    def _int_lists(self, places: Column, types: Column) -> list[EValue]:
        (items,) = self._columns.table(places, program_tables.LIST)
        lists = self._columns.vectors(items, I64)
        for _, elements in lists.by_length:
            self._columns.check((elements >= 0) & (elements < len(types)))
            made = types[elements]
            self._columns.check((made == _INT) | (made == _NULL))
        return list(map(partial(tuple.__new__, IntList), zip(lists.tuples())))

    # --- tensors -------------------------------------------------------------------------

    def _tensors(self, places: Column) -> _Found:
        """Read tensors; initial states, external tensors and tensors with extra metadata one by one."""
        rows = _TensorRows(*self._columns.table(places, program_tables.TENSOR))
        is_constant = (rows.shape_dynamism == _STATIC) & (rows.allocation_info == 0)
        is_plain = (rows.extra_tensor_info == 0) & ((rows.data_buffer_idx == 0) | is_constant)
        plain, others = is_plain.nonzero()[0], (~is_plain).nonzero()[0]
        if not len(others):
            return self._plain_tensors(rows)
        tensors, kinds = self._different(
            [self._read_one(_TENSOR, place) for place in places[others].tolist()]
        )
        if not len(plain):
            return tensors, kinds
        found, kinds_of_plain = self._plain_tensors(_TensorRows(*(column[plain] for column in rows)))
        all_kinds = self._numpy.empty(len(places), "i8")
        all_kinds[others], all_kinds[plain] = kinds, kinds_of_plain + len(tensors)
        return tensors + found, all_kinds

    def _plain_tensors(self, rows: _TensorRows) -> _Found:
        self._columns.check_zero(rows.storage_offset)
        sizes = self._columns.vectors(rows.sizes, I32)
        dim_orders = self._columns.vectors(rows.dim_order, U8)
        self._columns.check((rows.shape_dynamism >= 0) & (rows.shape_dynamism < len(_DYNAMISMS)))
        itemsizes = self._numpy.array(_ITEMSIZES_BYTES)[rows.scalar_type.view("u1")]
        self._columns.check(itemsizes)
        size_bytes = self._size_bytes(sizes, itemsizes, rows)
        self._check_dim_orders(dim_orders, sizes)
        self._check_constants(rows.data_buffer_idx, size_bytes, itemsizes)
        memory_ids, offsets = self._allocations(rows.allocation_info, size_bytes)
        numbers = [rows.scalar_type, rows.data_buffer_idx, memory_ids, offsets, rows.shape_dynamism]
        shapes = [sizes.padded(), dim_orders.padded()]
        firsts, kinds = self._columns.distinct([*numbers, sizes.counts, *shapes[0].T, *shapes[1].T])
        ranks = sizes.counts[firsts].tolist()
        tuples = (
            [tuple(row[:rank]) for row, rank in zip(each[firsts].tolist(), ranks, strict=True)]
            for each in shapes
        )
        return _tensors_of(*(each[firsts].tolist() for each in numbers), *tuples), kinds

    def _size_bytes(self, sizes: Vectors, itemsizes: Column, rows: _TensorRows) -> Column:
        """Return the bytes that each tensor takes in planned memory; 0 if its shape is unbounded."""
        numpy = self._numpy
        make_sure(int(sizes.counts.max()) <= MAX_RANK)
        # In float64, a product that is too large for int64 becomes a large number instead of wrapping around.
        element_counts = numpy.ones(len(sizes.counts))
        for lengths, elements in sizes.by_length:
            self._columns.check(elements >= 0)
            element_counts[lengths] = elements.prod(axis=1, dtype=numpy.float64)
            spans = element_counts if elements.all() else elements.clip(1).prod(axis=1, dtype=numpy.float64)
            self._columns.check(spans * _WIDEST_BYTES < _MOST_BYTES)
        size_bytes: Column = element_counts * itemsizes
        size_bytes[rows.shape_dynamism == _UNBOUND] = 0
        return size_bytes

    def _check_dim_orders(self, dim_orders: Vectors, sizes: Vectors) -> None:
        numpy = self._numpy
        self._columns.check(dim_orders.counts == sizes.counts)
        for _, elements in dim_orders.by_length:
            self._columns.check(numpy.sort(elements, axis=1) == numpy.arange(elements.shape[1]))

    def _check_constants(self, indices: Column, size_bytes: Column, itemsizes: Column) -> None:
        """Check that constants exist, are large enough and aligned; index 0 stands for no data."""
        rows = indices.nonzero()[0]
        if not len(rows):
            return
        wanted = indices[rows]
        make_sure(int(wanted.max()) < len(self._constants))
        starts, available_bytes = self._numpy.array(self._constants)[wanted].T
        self._columns.check(size_bytes[rows] <= available_bytes)
        self._columns.check_zero(starts % itemsizes[rows])

    def _allocations(self, places: Column, size_bytes: Column) -> tuple[Column, Column]:
        """Return the memory id of each tensor, 0 where nothing is planned, and its offset there."""
        numpy = self._numpy
        memory_ids, offsets = numpy.zeros((2, len(places)), "i8")
        planned = places.nonzero()[0]
        if len(planned):
            ids, low, high = self._columns.table(places[planned], program_tables.ALLOCATION_DETAILS)
            self._columns.check(
                high < 2**16
            )  # so that offsets, and their sums with sizes, are exact in float64
            self._columns.check((ids > 0) & (ids < len(self._memory_sizes)))  # memory 0 is reserved
            memory_ids[planned], offsets[planned] = ids, (high << 32) + low
            ends = offsets[planned] + size_bytes[planned]
            self._columns.check(ends <= numpy.array(self._memory_sizes)[ids])
        return memory_ids, offsets


class _TensorRows(NamedTuple):
    """The columns of `program_tables.TENSOR`, one row for each tensor."""

    scalar_type: Column
    storage_offset: Column
    sizes: Column
    dim_order: Column
    data_buffer_idx: Column
    allocation_info: Column
    shape_dynamism: Column
    extra_tensor_info: Column


def _tensors_of(
    scalar_types: Sequence[int],
    data_buffer_indices: Sequence[int],
    memory_ids: Sequence[int],
    offsets: Sequence[int],
    dynamisms: Sequence[int],
    sizes: Sequence[tuple[int, ...]],
    dim_orders: Sequence[tuple[int, ...]],
) -> list[EValue]:
    """Make the tensors, each of one item of every sequence."""
    columns = (
        [_SCALAR_TYPES[number] for number in scalar_types],
        sizes,
        dim_orders,
        data_buffer_indices,
        [AllocationDetails(*each) if each[0] else None for each in zip(memory_ids, offsets, strict=True)],
        [_DYNAMISMS[number] for number in dynamisms],
        *(repeat(default) for default in (0, None, False, DeviceType.CPU, 0)),
    )
    # `tuple.__new__` skips the named tuple's own constructor, which is written in Python.
    return [*map(partial(tuple.__new__, SerializedTensor), zip(*columns, strict=False))]
