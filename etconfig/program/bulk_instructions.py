"""Reads the instructions of one chain by columns: kernel calls at once, the others one by one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from etconfig.program import layout
from etconfig.program.columns import Columns, make_sure
from etconfig.program.layout import I32, InstructionArguments
from etconfig.program.model import Instruction, KernelCall


def read_instructions(
    columns: Columns,
    position: int,
    count: int,
    operator_count: int,
    value_count: int,
    read_one: Callable[[int, int], Instruction],
) -> tuple[Instruction, ...]:
    """The `count` instructions of the vector at `position`.

    `read_one` reads the arguments of one instruction: their kind, and their position.

    Raises:
        DoubtError: something may be malformed.
        ProgramError: something is.
    """
    numpy = columns.numpy
    kinds, arguments = columns.table(columns.references(position, count), layout.INSTRUCTION)
    columns.check(arguments != 0)
    is_kernel_call = kinds == InstructionArguments.KERNEL_CALL
    make_sure(is_kernel_call.any())
    op_index, args = columns.table(arguments[is_kernel_call], layout.KERNEL_CALL)
    columns.check((op_index >= 0) & (op_index < operator_count))
    vectors = columns.vectors(args, I32)
    for _, elements in vectors.by_length():
        columns.check((elements >= 0) & (elements < value_count))
    calls: list[Instruction] = list(
        map(partial(tuple.__new__, KernelCall), zip(op_index.tolist(), vectors.tuples(), strict=True))
    )
    if len(calls) == count:
        return tuple(calls)
    instructions = numpy.empty(count, object)
    rows = numpy.flatnonzero(is_kernel_call).tolist()
    for row, call in zip(rows, calls, strict=True):
        instructions[row] = call
    for row in numpy.flatnonzero(~is_kernel_call).tolist():
        instructions[row] = read_one(int(kinds[row]), int(arguments[row]))
    return tuple(instructions.tolist())
