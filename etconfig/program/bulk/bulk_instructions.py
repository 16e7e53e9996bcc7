"""Reads the instructions of one chain by columns: kernel calls at once, the others one by one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from etconfig.flatbuffer.layout import I32
from etconfig.program import program_tables
from etconfig.program.bulk.table_columns import Columns, in_order, make_sure
from etconfig.program.model import Instruction, KernelCall
from etconfig.program.program_tables import InstructionArguments

if TYPE_CHECKING:
    from etconfig.program.bulk.table_columns import Column


def read_instructions(
    columns: Columns,
    position: int,
    count: int,
    operator_count: int,
    value_count: int,
    read_one: Callable[[int, int], Instruction],
) -> tuple[Instruction, ...]:
    """Read the `count` instructions of the vector at `position`.

    `read_one` reads the arguments of one instruction from their kind and their position.

    Raises:
        DoubtError: something may be malformed.
        ProgramError: something is malformed.
    """
    kinds, arguments = columns.table(columns.references(position, count), program_tables.INSTRUCTION)
    columns.check(arguments)
    is_kernel_call = kinds == InstructionArguments.KERNEL_CALL.value
    kernel_calls, others = is_kernel_call.nonzero()[0], (~is_kernel_call).nonzero()[0]
    make_sure(len(kernel_calls))
    calls = _read_kernel_calls(columns, arguments[kernel_calls], operator_count, value_count)
    if not len(others):
        return tuple(calls)
    rest = map(read_one, kinds[others].tolist(), arguments[others].tolist())
    return tuple(in_order([(kernel_calls, calls), (others, [*rest])]))


def _read_kernel_calls(
    columns: Columns, places: Column, operator_count: int, value_count: int
) -> list[Instruction]:
    op_index, args = columns.table(places, program_tables.KERNEL_CALL)
    columns.check((op_index >= 0) & (op_index < operator_count))
    vectors = columns.vectors(args, I32)
    for _, elements in vectors.by_length:
        columns.check((elements >= 0) & (elements < value_count))
    return list(
        map(partial(tuple.__new__, KernelCall), zip(op_index.tolist(), vectors.tuples(), strict=True))
    )
