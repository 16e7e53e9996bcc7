"""Reads the chains of one plan, and verifies every index in their instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from etconfig.flatbuffer.layout import I32
from etconfig.program import layout
from etconfig.program.bulk.columns import DoubtError, columns_of
from etconfig.program.cursor import Cursor
from etconfig.program.layout import InstructionArguments
from etconfig.program.model import (
    Chain,
    DelegateCall,
    FreeCall,
    Instruction,
    JumpFalseCall,
    KernelCall,
    MoveCall,
)
from etconfig.program.program_errors import bad_index, known, malformed, missing_field


class InstructionReader:
    """Reads the chains of one plan.

    Args:
        cursor: Reads the program's tables.
        value_count: The number of values of the plan.
        operator_count: The number of its operators.
        delegate_count: The number of its delegates.
    """

    def __init__(self, cursor: Cursor, value_count: int, operator_count: int, delegate_count: int) -> None:
        self._cursor = cursor
        self._values = range(value_count)
        self._operators = range(operator_count)
        self._delegates = range(delegate_count)
        self._destinations = range(0)
        self._readers: Mapping[int, Callable[[int], Instruction]] = {
            InstructionArguments.KERNEL_CALL: self._read_kernel_call,
            InstructionArguments.DELEGATE_CALL: self._read_delegate_call,
            InstructionArguments.MOVE_CALL: self._read_move_call,
            InstructionArguments.JUMP_FALSE_CALL: self._read_jump_false_call,
            InstructionArguments.FREE_CALL: self._read_free_call,
        }

    def read_chains(self, position: int) -> tuple[Chain, ...]:
        """Read the chains of the vector at `position`; a plan has at least one.

        Raises:
            ProgramError: a chain is malformed, or an instruction refers to something that is not there.
        """
        chains = self._cursor.each(position, "chains", self._read_chain)
        if not chains:
            raise malformed("missing-field", "chains", "a plan needs at least one chain", offset=position)
        return chains

    def _read_chain(self, table: int) -> Chain:
        (instructions,) = self._cursor.table(table, layout.CHAIN)
        limit = self._cursor.limits.max_instructions
        count = self._cursor.length(instructions, "instructions", limit, "max_instructions")
        self._destinations = range(count + 1)  # a jump to the end of the chain ends it
        with suppress(DoubtError), columns_of(self._cursor, count, are_alike=True) as columns:
            from etconfig.program.bulk.bulk_instructions import read_instructions

            operators, values = len(self._operators), len(self._values)
            return Chain(
                read_instructions(columns, instructions, count, operators, values, self._read_arguments)
            )
        return Chain(self._cursor.each(instructions, "instructions", self._read_instruction))

    def _read_instruction(self, table: int) -> Instruction:
        kind, arguments = self._cursor.table(table, layout.INSTRUCTION)
        if not kind or not arguments:
            raise missing_field("instr_args")
        return self._read_arguments(kind, arguments)

    def _read_arguments(self, kind: int, table: int) -> Instruction:
        return known(self._readers, kind, "instr_args_type")(table)

    def _read_kernel_call(self, table: int) -> KernelCall:
        op_index, args = self._cursor.table(table, layout.KERNEL_CALL)
        if op_index not in self._operators:
            raise bad_index("op_index", op_index, self._operators, "operators", table)
        return KernelCall(op_index, self._cursor.indices(args, I32, self._values, "args", "values"))

    def _read_delegate_call(self, table: int) -> DelegateCall:
        delegate_index, args = self._cursor.table(table, layout.DELEGATE_CALL)
        if delegate_index not in self._delegates:
            raise bad_index("delegate_index", delegate_index, self._delegates, "delegates", table)
        return DelegateCall(delegate_index, self._cursor.indices(args, I32, self._values, "args", "values"))

    def _read_move_call(self, table: int) -> MoveCall:
        move_from, move_to = self._cursor.table(table, layout.MOVE_CALL)
        self._check_value(move_from, "move_from", table)
        self._check_value(move_to, "move_to", table)
        return MoveCall(move_from, move_to)

    def _read_jump_false_call(self, table: int) -> JumpFalseCall:
        condition, destination = self._cursor.table(table, layout.JUMP_FALSE_CALL)
        self._check_value(condition, "cond_value_index", table)
        if destination not in self._destinations:
            count = self._destinations.stop - 1
            detail = f"the jump leads to {destination}, but the chain has {count} instructions"
            raise malformed("index-out-of-range", "destination_instruction", detail, offset=table)
        return JumpFalseCall(condition, destination)

    def _read_free_call(self, table: int) -> FreeCall:
        (index,) = self._cursor.table(table, layout.FREE_CALL)
        self._check_value(index, "value_index", table)
        return FreeCall(index)

    def _check_value(self, index: int, field: str, table: int) -> None:
        if index not in self._values:
            raise bad_index(field, index, self._values, "values", table)
