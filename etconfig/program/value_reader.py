"""Reads the values of one plan, and verifies what lists refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from etconfig.errors import ProgramError
from etconfig.flatbuffer.layout import BOOLEAN, F64, I32, I64, FieldKind
from etconfig.program import program_tables
from etconfig.program.bulk.table_columns import Columns, DoubtError, columns_of
from etconfig.program.cursor import Cursor
from etconfig.program.model import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    EValue,
    Int,
    IntList,
    OptionalTensorList,
    String,
    TensorList,
)
from etconfig.program.program_errors import known, locate, malformed, missing_field
from etconfig.program.program_tables import KernelTypes
from etconfig.program.tensor_reader import TensorReader

_NULL, _LAST_TYPE = KernelTypes.NULL.value, max(KernelTypes).value
"""Plain numbers, which are compared faster than members of an enumeration."""

_INTEGERS = frozenset({KernelTypes.INT, KernelTypes.NULL})
"""The values that an IntList may name: a symbolic integer that is an input is serialized as Null."""

_TENSORS = frozenset({KernelTypes.TENSOR})
_OPTIONAL_TENSORS = frozenset({KernelTypes.TENSOR, KernelTypes.NULL})


class ValueReader:
    """Reads the `values` of one plan: first the type of each, so that lists can be verified, then all.

    Args:
        cursor: Reads the program's tables.
        tensors: Reads the tensors among the values.
    """

    def __init__(self, cursor: Cursor, tensors: TensorReader) -> None:
        self._cursor = cursor
        self._memory_sizes = tensors.memory_sizes
        self._constants = tensors.constants
        self._types: Sequence[int] = ()
        self._readers: Mapping[int, Callable[[int], EValue]] = {
            KernelTypes.NULL: lambda table: None,
            KernelTypes.INT: lambda table: Int(*cursor.table(table, program_tables.INT)),
            KernelTypes.BOOL: lambda table: Bool(*cursor.table(table, program_tables.BOOL_VALUE)),
            KernelTypes.DOUBLE: lambda table: Double(*cursor.table(table, program_tables.DOUBLE)),
            KernelTypes.TENSOR: tensors.read,
            KernelTypes.STRING: self._read_string,
            KernelTypes.INT_LIST: lambda table: IntList(self._read_indices(table, I64, 0, _INTEGERS)),
            KernelTypes.DOUBLE_LIST: lambda table: DoubleList(self._read_numbers(table, F64)),
            KernelTypes.BOOL_LIST: lambda table: BoolList(self._read_numbers(table, BOOLEAN)),
            KernelTypes.TENSOR_LIST: lambda table: TensorList(self._read_indices(table, I32, 0, _TENSORS)),
            KernelTypes.OPTIONAL_TENSOR_LIST: lambda table: OptionalTensorList(
                self._read_indices(table, I32, -1, _OPTIONAL_TENSORS)
            ),
        }

    def read(self, position: int) -> tuple[EValue, ...]:
        """Read the values of the vector at `position`.

        Raises:
            ProgramError: a value is malformed, or refers to something that does not exist.
        """
        limits = self._cursor.limits
        count = self._cursor.length(position, "values", limits.max_values, "max_values")
        with suppress(DoubtError), columns_of(self._cursor, count, are_alike=False) as columns:
            return self._read_in_bulk(columns, position, count)
        # all types before any contents: a list may name values that come after it
        typed = self._cursor.each(position, "values", self._read_type)
        self._types = [value_type for value_type, _ in typed]
        values: list[EValue] = []
        try:
            for value_type, table in typed:
                values.append(self._readers[value_type](table))
        except ProgramError as error:
            index = len(values)
            locate(error, f"values[{index}]", typed[index][1])
            raise
        return tuple(values)

    def _read_in_bulk(self, columns: Columns, position: int, count: int) -> tuple[EValue, ...]:
        from etconfig.program.bulk.bulk_values import BulkValues  # most plans are small and never need it

        types, contents = columns.table(columns.references(position, count), program_tables.E_VALUE)
        columns.check((types >= _NULL) & (types <= _LAST_TYPE))
        columns.check((contents > 0) | (types == _NULL))
        self._types = types.tolist()
        return BulkValues(columns, self._memory_sizes, self._constants, self._read_contents).read(
            types, contents
        )

    def _read_contents(self, value_type: int, table: int) -> EValue:
        return self._readers[value_type](table)

    def _read_type(self, table: int) -> tuple[int, int]:
        """Return the type of a value and the position of its contents; Null need not have any."""
        value_type, contents = self._cursor.table(table, program_tables.E_VALUE)
        if value_type != _NULL and not (value_type and contents):
            raise missing_field("val")
        known(self._readers, value_type, "val_type")
        return value_type, contents

    def _read_string(self, table: int) -> String:
        (text,) = self._cursor.table(table, program_tables.STRING)
        return String(self._cursor.string(text, "string_val"))

    def _read_numbers(self, table: int, kind: FieldKind) -> tuple[Any, ...]:
        (items,) = self._cursor.table(table, program_tables.LIST)
        return self._cursor.numbers(items, kind, "items")

    def _read_indices(
        self, table: int, kind: FieldKind, lowest: int, accepted: frozenset[KernelTypes]
    ) -> tuple[int, ...]:
        """Read the items of a list, which are indices, from `lowest` on, of values of an accepted type."""
        (position,) = self._cursor.table(table, program_tables.LIST)
        valid = range(lowest, len(self._types))
        items = self._cursor.indices(position, kind, valid, "items", "values")
        for at, item in enumerate(items):
            if item >= 0 and self._types[item] not in accepted:
                expected = " or ".join(sorted(member.name for member in accepted))
                found = KernelTypes(self._types[item]).name
                raise malformed(
                    "wrong-value-type",
                    f"items[{at}]",
                    f"values[{item}] is of type {found}, expected {expected}",
                    offset=position + 4 + at * kind.size_bytes,
                )
        return items
