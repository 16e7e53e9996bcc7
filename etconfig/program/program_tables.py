"""The tables of program.fbs: their layouts and their unions.

Source: executorch schema/program.fbs.
"""

from __future__ import annotations

import enum

from etconfig.flatbuffer.layout import BOOLEAN, F64, I8, I32, I64, REFERENCE, U8, U32, U64, Layout


class KernelTypes(enum.IntEnum):
    """The members of the union in an EValue; 0 stands for none."""

    NULL = 1
    INT = 2
    BOOL = 3
    DOUBLE = 4
    TENSOR = 5
    STRING = 6
    INT_LIST = 7
    DOUBLE_LIST = 8
    BOOL_LIST = 9
    TENSOR_LIST = 10
    OPTIONAL_TENSOR_LIST = 11


class InstructionArguments(enum.IntEnum):
    """The members of the union in an Instruction; 0 stands for none."""

    KERNEL_CALL = 1
    DELEGATE_CALL = 2
    MOVE_CALL = 3
    JUMP_FALSE_CALL = 4
    FREE_CALL = 5


PROGRAM = Layout(
    version=U32,
    execution_plan=REFERENCE,
    constant_buffer=REFERENCE,
    backend_delegate_data=REFERENCE,
    segments=REFERENCE,
    constant_segment=REFERENCE,
    mutable_data_segments=REFERENCE,
    named_data=REFERENCE,
)
BUFFER = Layout(storage=REFERENCE)
BACKEND_DELEGATE_INLINE_DATA = Layout(data=REFERENCE)
DATA_SEGMENT = Layout(offset=U64, size=U64)
SUBSEGMENT_OFFSETS = Layout(segment_index=U32, offsets=REFERENCE)
NAMED_DATA = Layout(key=REFERENCE, segment_index=U32)

EXECUTION_PLAN = Layout(
    name=REFERENCE,
    container_meta_type=None,
    values=REFERENCE,
    inputs=REFERENCE,
    outputs=REFERENCE,
    chains=REFERENCE,
    operators=REFERENCE,
    delegates=REFERENCE,
    non_const_buffer_sizes=REFERENCE,
    non_const_buffer_device=REFERENCE,
)
NON_CONST_BUFFER_DEVICE = Layout(buffer_idx=I32, device_type=I8, device_index=I8)
OPERATOR = Layout(name=REFERENCE, overload=REFERENCE)
BACKEND_DELEGATE = Layout(id=REFERENCE, processed=REFERENCE, compile_specs=REFERENCE)
BACKEND_DELEGATE_DATA_REFERENCE = Layout(location=I8, index=U32)
COMPILE_SPEC = Layout(key=REFERENCE, value=REFERENCE)

CHAIN = Layout(inputs=None, outputs=None, instructions=REFERENCE)
INSTRUCTION = Layout(instr_args_type=U8, instr_args=REFERENCE)
KERNEL_CALL = Layout(op_index=I32, args=REFERENCE)
DELEGATE_CALL = Layout(delegate_index=I32, args=REFERENCE)
MOVE_CALL = Layout(move_from=I32, move_to=I32)
JUMP_FALSE_CALL = Layout(cond_value_index=I32, destination_instruction=I32)
FREE_CALL = Layout(value_index=I32)

E_VALUE = Layout(val_type=U8, val=REFERENCE)
INT = Layout(int_val=I64)
BOOL_VALUE = Layout(bool_val=BOOLEAN)
DOUBLE = Layout(double_val=F64)
STRING = Layout(string_val=REFERENCE)
LIST = Layout(items=REFERENCE)
TENSOR = Layout(
    scalar_type=I8,
    storage_offset=I32,
    sizes=REFERENCE,
    dim_order=REFERENCE,
    requires_grad=None,
    data_buffer_idx=U32,
    allocation_info=REFERENCE,
    layout=None,
    shape_dynamism=I8,
    extra_tensor_info=REFERENCE,
)
ALLOCATION_DETAILS = Layout(memory_id=U32, memory_offset_low=U32, memory_offset_high=U32)
EXTRA_TENSOR_INFO = Layout(
    mutable_data_segments_idx=U64,
    fully_qualified_name=REFERENCE,
    location=I8,
    device_type=I8,
    device_index=I8,
)
