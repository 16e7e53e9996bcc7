"""Opens a file of any kind and reads everything in it, as an executor would."""

from __future__ import annotations

from etconfig.errors import ProgramError
from etconfig.program.bundled import BundledTensor
from etconfig.program.flat_tensor import open_data_file
from etconfig.program.model import SerializedTensor
from etconfig.program.program import Program, open_program
from etconfig.program.program_errors import PROGRAM_ERROR_CODES


def touch_everything(program: Program) -> None:
    """Read everything in an open program, in which all indices must be valid."""
    for name in program.method_names:
        plan = program.plan(name)
        for value in plan.values:
            if isinstance(value, SerializedTensor) and value.is_constant and not value.external:
                assert len(program.constant(value.data_buffer_idx, value.size_bytes)) == value.size_bytes
        for delegate in plan.delegates:
            bytes(program.delegate_data(delegate))
        for index in (*plan.inputs, *plan.outputs):
            plan.values[index]
    for data in program.named_data.values():
        bytes(data)
    for cases in program.bundled_cases.values():
        for value in (value for case in cases for values in case for value in values):
            assert not isinstance(value, BundledTensor) or value.layout.size_bytes == len(bytes(value.data))


def touch_data_file(data: bytes) -> None:
    """Read everything in a data file."""
    for blob in open_data_file(data).blobs.values():
        assert blob.layout is None or blob.layout.size_bytes <= len(bytes(blob.data))


def outcome(data: bytes, suffix: str = ".pte") -> str:
    """Open and read a file, and return the code of the error, or `sound`."""
    try:
        touch_data_file(data) if suffix == ".ptd" else touch_everything(open_program(data))
    except ProgramError as refused:
        error = refused
    else:
        return "sound"
    assert error.code in PROGRAM_ERROR_CODES
    assert error.region
    assert str(error).endswith(f"[{error.code}]") or error.help
    assert error.offset is not None
    assert error.offset >= 0
    return error.code
