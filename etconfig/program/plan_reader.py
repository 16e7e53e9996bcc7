"""Reads one execution plan, and verifies every index in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from etconfig.base.compile_specs import CompileSpec
from etconfig.base.scalar_types import MAX_RANK
from etconfig.flatbuffer.layout import I32, I64
from etconfig.program import program_tables
from etconfig.program.bulk.shared_values import different
from etconfig.program.bulk.table_columns import DoubtError, columns_of
from etconfig.program.cursor import Cursor
from etconfig.program.model import (
    BackendDelegate,
    BackendDelegateDataReference,
    BoolList,
    Chain,
    DataLocation,
    DelegateCall,
    DeviceType,
    DoubleList,
    EValue,
    ExecutionPlan,
    FreeCall,
    Instruction,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    NonConstBufferDevice,
    Operator,
    OptionalTensorList,
    SerializedTensor,
    TensorList,
)
from etconfig.program.payload_reader import Payloads
from etconfig.program.program_errors import bad_index, known, malformed, missing_field
from etconfig.program.program_tables import InstructionArguments
from etconfig.program.tensor_reader import TensorReader
from etconfig.program.value_reader import ValueReader


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

    def read_chain(self, table: int) -> Chain:
        """Read the chain at `table`.

        Raises:
            ProgramError: it is malformed, or an instruction refers to something that is not there.
        """
        (instructions,) = self._cursor.table(table, program_tables.CHAIN)
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
        kind, arguments = self._cursor.table(table, program_tables.INSTRUCTION)
        if not kind or not arguments:
            raise missing_field("instr_args")
        return self._read_arguments(kind, arguments)

    def _read_arguments(self, kind: int, table: int) -> Instruction:
        return known(self._readers, kind, "instr_args_type")(table)

    def _read_kernel_call(self, table: int) -> KernelCall:
        op_index, args = self._cursor.table(table, program_tables.KERNEL_CALL)
        if op_index not in self._operators:
            raise bad_index("op_index", op_index, self._operators, "operators", table)
        return KernelCall(op_index, self._cursor.indices(args, I32, self._values, "args", "values"))

    def _read_delegate_call(self, table: int) -> DelegateCall:
        delegate_index, args = self._cursor.table(table, program_tables.DELEGATE_CALL)
        if delegate_index not in self._delegates:
            raise bad_index("delegate_index", delegate_index, self._delegates, "delegates", table)
        return DelegateCall(delegate_index, self._cursor.indices(args, I32, self._values, "args", "values"))

    def _read_move_call(self, table: int) -> MoveCall:
        move_from, move_to = self._cursor.table(table, program_tables.MOVE_CALL)
        self._check_value(move_from, "move_from", table)
        self._check_value(move_to, "move_to", table)
        return MoveCall(move_from, move_to)

    def _read_jump_false_call(self, table: int) -> JumpFalseCall:
        condition, destination = self._cursor.table(table, program_tables.JUMP_FALSE_CALL)
        self._check_value(condition, "cond_value_index", table)
        if destination not in self._destinations:
            count = self._destinations.stop - 1
            detail = f"the jump leads to {destination}, but the chain has {count} instructions"
            raise malformed("index-out-of-range", "destination_instruction", detail, offset=table)
        return JumpFalseCall(condition, destination)

    def _read_free_call(self, table: int) -> FreeCall:
        (index,) = self._cursor.table(table, program_tables.FREE_CALL)
        self._check_value(index, "value_index", table)
        return FreeCall(index)

    def _check_value(self, index: int, field: str, table: int) -> None:
        if index not in self._values:
            raise bad_index(field, index, self._values, "values", table)


_DATA_LOCATIONS = {member.value: member for member in DataLocation}
_LISTS = (IntList, DoubleList, BoolList, TensorList, OptionalTensorList)
_DEVICE_TYPES = {member.value: member for member in DeviceType}


class PlanReader:
    """Reads execution plans.

    Args:
        cursor: Reads the program's tables.
        payloads: The extents of the program's payloads.
    """

    def __init__(self, cursor: Cursor, payloads: Payloads) -> None:
        self._cursor = cursor
        self._payloads = payloads

    def read(self, table: int) -> ExecutionPlan:
        """Read the plan at `table`.

        Raises:
            ProgramError: it is malformed, or refers to something that does not exist.
        """
        cursor = self._cursor
        name, values, inputs, outputs, chains, operators, delegates, sizes, devices = cursor.table(
            table, program_tables.EXECUTION_PLAN
        )
        buffer_sizes = self._read_buffer_sizes(sizes)
        tensors = TensorReader(cursor, self._payloads, buffer_sizes)
        plan_values = ValueReader(cursor, tensors).read(values)
        plan_operators = cursor.each(operators, "operators", self._read_operator) if operators else ()
        plan_delegates = cursor.each(delegates, "delegates", self._read_delegate)
        instructions = InstructionReader(cursor, len(plan_values), len(plan_operators), len(plan_delegates))
        plan_outputs = cursor.indices(outputs, I32, range(len(plan_values)), "outputs", "values")
        plan_chains = cursor.each(chains, "chains", instructions.read_chain)
        if not plan_chains:
            raise malformed("missing-field", "chains", "a plan needs at least one chain", offset=chains)
        self._charge_lists(plan_values, plan_chains, plan_outputs)
        return ExecutionPlan(
            name=cursor.string(name, "name"),
            values=plan_values,
            inputs=self._read_inputs(inputs, plan_values),
            outputs=plan_outputs,
            chains=plan_chains,
            operators=plan_operators,
            delegates=plan_delegates,
            non_const_buffer_sizes=buffer_sizes,
            non_const_buffer_device=self._read_devices(devices, len(buffer_sizes)),
        )

    def _charge_lists(
        self, values: tuple[EValue, ...], chains: Sequence[Chain], outputs: Sequence[int]
    ) -> None:
        """Charge the items of long lists as work, again for each use, because every user visits all of them.

        Otherwise a file of 40 KB could have 10 million tensors joined, which takes gigabytes.
        """
        if not any(map(_cost, different(values))):
            return
        costs = [*map(_cost, values)]
        for chain in chains:
            for each in chain.instructions:
                if isinstance(each, (KernelCall, DelegateCall)):
                    self._cursor.charge(sum(costs[arg] for arg in each.args), "instructions")
        self._cursor.charge(sum(costs[output] for output in outputs), "outputs")

    def _read_inputs(self, position: int, values: Sequence[EValue]) -> tuple[int, ...]:
        indices = self._cursor.indices(position, I32, range(len(values)), "inputs", "values")
        for at, index in enumerate(indices):
            value = values[index]
            if isinstance(value, SerializedTensor) and value.is_constant:
                detail = f"values[{index}] is a constant, which no input can be written to"
                offset = position + 4 + at * I32.size_bytes
                raise malformed("wrong-value-type", f"inputs[{at}]", detail, offset=offset)
        return indices

    def _read_buffer_sizes(self, position: int) -> tuple[int, ...]:
        sizes = self._cursor.numbers(position, I64, "non_const_buffer_sizes")
        if sizes and min(sizes) < 0:
            detail = f"{list(sizes)} holds a negative size"
            raise malformed("negative-size", "non_const_buffer_sizes", detail, offset=position)
        return sizes

    def _read_devices(self, position: int, buffer_count: int) -> tuple[NonConstBufferDevice, ...]:
        valid = range(buffer_count)

        def read(table: int) -> NonConstBufferDevice:
            index, device_type, device_index = self._cursor.table(
                table, program_tables.NON_CONST_BUFFER_DEVICE
            )
            if index not in valid:
                raise bad_index("buffer_idx", index, valid, "non_const_buffer_sizes")
            return NonConstBufferDevice(index, known(_DEVICE_TYPES, device_type, "device_type"), device_index)

        return self._cursor.each(position, "non_const_buffer_device", read) if position else ()

    def _read_operator(self, table: int) -> Operator:
        name, overload = self._cursor.table(table, program_tables.OPERATOR)
        return Operator(
            self._cursor.string(name, "name"),
            self._cursor.string(overload, "overload") if overload else "",
        )

    def _read_delegate(self, table: int) -> BackendDelegate:
        cursor = self._cursor
        backend_id, processed, specs = cursor.table(table, program_tables.BACKEND_DELEGATE)
        if not processed:
            raise missing_field("processed")
        return BackendDelegate(
            id=cursor.string(backend_id, "id"),
            processed=cursor.at(processed, "processed", self._read_data_reference),
            compile_specs=cursor.each(specs, "compile_specs", self._read_compile_spec) if specs else (),
        )

    def _read_data_reference(self, table: int) -> BackendDelegateDataReference:
        location, index = self._cursor.table(table, program_tables.BACKEND_DELEGATE_DATA_REFERENCE)
        reference = BackendDelegateDataReference(known(_DATA_LOCATIONS, location, "location"), index)
        self._payloads.delegate(reference)
        return reference

    def _read_compile_spec(self, table: int) -> CompileSpec:
        key, value = self._cursor.table(table, program_tables.COMPILE_SPEC)
        return CompileSpec(self._cursor.string(key, "key"), self._cursor.bytes_copy(value, "value"))


def _cost(value: EValue) -> int:
    """Return the bytes of a long list's items, and 0 for anything else."""
    return 4 * len(value.items) if isinstance(value, _LISTS) and len(value.items) > MAX_RANK else 0
