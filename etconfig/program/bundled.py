"""Bundled programs (.bpte): a program with recorded inputs and expected outputs.

Source: executorch devtools/bundled_program/schema/bundled_program_schema.fbs.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from etconfig.flatbuffer.layout import I8, REFERENCE, U8, U32, Layout
from etconfig.program.cursor import Cursor, Extent
from etconfig.program.program_errors import known, malformed, missing_field, truncated
from etconfig.program.program_tables import BOOL_VALUE, DOUBLE, INT
from etconfig.program.tensor_reader import TensorLayout, read_tensor_layout

_BUNDLED_PROGRAM = Layout(version=U32, method_test_suites=REFERENCE, program=REFERENCE)
_TEST_SUITE = Layout(method_name=REFERENCE, test_cases=REFERENCE)
_TEST_CASE = Layout(inputs=REFERENCE, expected_outputs=REFERENCE)
_VALUE = Layout(val_type=U8, val=REFERENCE)
_TENSOR = Layout(scalar_type=I8, sizes=REFERENCE, data=REFERENCE, dim_order=REFERENCE)

_PROGRAM_ALIGNMENT_BYTES = 16
"""The largest alignment that program.fbs asks for. ExecuTorch aligns to 32."""


class _ValueTypes(enum.IntEnum):
    """The members of the union in a Value; 0 stands for none."""

    TENSOR = 1
    INT = 2
    BOOL = 3
    DOUBLE = 4


_VALUE_TYPES = {member.value: member for member in _ValueTypes}


class BundledTensor(NamedTuple):
    """A recorded tensor: its layout, and its bytes, read-only."""

    layout: TensorLayout
    data: memoryview


BundledValue: TypeAlias = "BundledTensor | int | bool | float"
"""One recorded input or output."""


class BundledCase(NamedTuple):
    """The inputs of one execute and the expected outputs, which a case for profiling lacks."""

    inputs: tuple[BundledValue, ...]
    expected_outputs: tuple[BundledValue, ...]


class Bundle(NamedTuple):
    """The contents of a bundled program.

    Attributes:
        program: The extent of the program in the file.
        cases: The recorded cases of each method that has any.
    """

    program: Extent
    cases: Mapping[str, tuple[BundledCase, ...]]


def read_bundle(file: Cursor) -> Bundle:
    """Read all cases, and find the program, which is not read yet.

    Raises:
        ProgramError: the file is malformed.
    """
    reader = _BundleReader(file.first(file.size_bytes))
    bundle = reader.read_root()
    if not any(reader.data_extents_in(bundle.program)):
        file.forget(bundle.program)  # the largest part by far, of which most is read in parts
    return bundle


class _BundleReader:
    """Reads the tables of one bundled program."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._cases: dict[str, tuple[BundledCase, ...]] = {}
        self._viewed: list[Extent] = []

    def read_root(self) -> Bundle:
        return self._cursor.at(self._cursor.root(), "root", self.read)

    def data_extents_in(self, part: Extent) -> Iterator[Extent]:
        """Yield the extents of recorded tensors that overlap a part of the file."""
        return (each for each in self._viewed if each.start < part.end and part.start < each.end)

    def read(self, table: int) -> Bundle:
        _, suites, program = self._cursor.table(table, _BUNDLED_PROGRAM)
        extent = self._cursor.bytes_extent(program, "program")
        if extent.start % _PROGRAM_ALIGNMENT_BYTES:
            detail = f"the program is not aligned to {_PROGRAM_ALIGNMENT_BYTES} bytes"
            raise malformed("misaligned", "program", detail, offset=extent.start)
        if suites:
            self._cursor.each(suites, "method_test_suites", self._read_suite)
        return Bundle(extent, MappingProxyType(self._cases))

    def _read_suite(self, table: int) -> None:
        name_position, cases = self._cursor.table(table, _TEST_SUITE)
        name = self._cursor.string(name_position, "method_name")
        if name in self._cases:
            raise malformed("duplicate-name", "method_name", f"another suite is for method {name!r}")
        self._cases[name] = self._cursor.each(cases, "test_cases", self._read_case) if cases else ()

    def _read_case(self, table: int) -> BundledCase:
        inputs, outputs = self._cursor.table(table, _TEST_CASE)
        return BundledCase(
            self._read_values(inputs, "inputs"), self._read_values(outputs, "expected_outputs")
        )

    def _read_values(self, position: int, field: str) -> tuple[BundledValue, ...]:
        return self._cursor.each(position, field, self._read_value) if position else ()

    def _read_value(self, table: int) -> BundledValue:
        value_type, contents = self._cursor.table(table, _VALUE)
        if not (value_type and contents):
            raise missing_field("val")
        kind = known(_VALUE_TYPES, value_type, "val_type")
        if kind is _ValueTypes.TENSOR:
            return self._cursor.at(contents, "val", self._read_tensor)
        scalar_layout = {_ValueTypes.INT: INT, _ValueTypes.BOOL: BOOL_VALUE, _ValueTypes.DOUBLE: DOUBLE}[kind]
        (value,) = self._cursor.table(contents, scalar_layout)
        scalar: int | bool | float = value
        return scalar

    def _read_tensor(self, table: int) -> BundledTensor:
        scalar_type, sizes, data, dim_order = self._cursor.table(table, _TENSOR)
        layout = read_tensor_layout(self._cursor, table, scalar_type, sizes, dim_order)
        # exporters may leave out the data of a tensor without elements
        extent = self._cursor.bytes_extent(data, "data") if data else Extent(table, 0)
        if layout.size_bytes > extent.size_bytes:  # more is normal: for a view, its whole storage is recorded
            raise truncated("data", extent.start, layout.size_bytes, extent.size_bytes)
        extent = Extent(extent.start, layout.size_bytes)
        self._viewed.append(extent)
        return BundledTensor(layout, self._cursor.view(extent, "data"))
