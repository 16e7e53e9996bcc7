"""Inputs of any form: both executors give the same answer, or refuse it in the same words."""

from __future__ import annotations

import array
import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from program_writer import instruction, plan, table, tensor, write

import etconfig
from etconfig.base.scalar_types import ScalarType
from etconfig.errors import EtconfigError, InvalidInputError

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]


def copying(scalar_type: ScalarType, *sizes: int) -> bytes:
    """Return a program that copies its input, whose memory is the caller's, to its output."""
    form = {"scalar_type": int(scalar_type), "sizes": list(sizes), "dim_order": list(range(len(sizes)))}
    copy = table("Operator", name="aten::alias_copy", overload="out")
    return write(
        plan(
            values=[tensor(**form, allocation_info=None), tensor(**form)],
            inputs=[0],
            outputs=[1],
            operators=[copy],
            instructions=[instruction("KernelCall", op_index=0, args=[0, 1, 1])],
        ),
        payloads=[bytes(16)],
        constant_segment=table("SubsegmentOffsets", segment_index=0, offsets=[0]),
    )


def misaligned(values: np.ndarray) -> np.ndarray:
    memory = np.zeros(values.nbytes + 1, np.uint8)
    made = memory[1:].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


def read_only(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


def mapped(values: np.ndarray) -> mmap.mmap:
    memory = mmap.mmap(-1, values.nbytes)
    memory[:] = values.tobytes()
    return memory


class Matrix(np.ndarray):
    """A subclass of numpy's array."""


F32 = np.arange(6, dtype=np.float32)
INPUTS: dict[str, tuple[ScalarType, tuple[int, ...], Callable[[], Any]]] = {
    "ctypes": (ScalarType.FLOAT, (3,), lambda: (ctypes.c_float * 3)(1, 2, 3)),
    "ctypes of two dimensions": (ScalarType.INT, (2, 2), lambda: (ctypes.c_int * 2 * 2)((1, 2), (3, 4))),
    "ctypes of the wrong length": (ScalarType.FLOAT, (3,), lambda: (ctypes.c_float * 4)()),
    "ctypes scalar": (ScalarType.FLOAT, (), lambda: ctypes.c_float(4)),
    "ctypes of structures": (ScalarType.FLOAT, (2,), lambda: (type("S", (ctypes.Structure,), {}) * 2)()),
    "array.array": (ScalarType.DOUBLE, (2,), lambda: array.array("d", [1, 2])),
    "bytes": (ScalarType.BYTE, (3,), lambda: b"abc"),
    "bytearray": (ScalarType.BYTE, (3,), lambda: bytearray(b"abc")),
    "memoryview": (ScalarType.FLOAT, (6,), lambda: memoryview(F32)),
    "reversed memoryview": (ScalarType.BYTE, (3,), lambda: memoryview(b"abc")[::-1]),
    "mmap": (ScalarType.BYTE, (24,), lambda: mapped(F32)),
    "subclass": (ScalarType.FLOAT, (6,), lambda: F32.view(Matrix)),
    "masked array": (ScalarType.FLOAT, (6,), lambda: np.ma.masked_array(F32)),
    "numpy scalar": (ScalarType.FLOAT, (), lambda: np.float32(4)),
    "no dimensions": (ScalarType.FLOAT, (), lambda: np.array(4, np.float32)),
    "number": (ScalarType.FLOAT, (), lambda: 4.0),
    "list": (ScalarType.FLOAT, (2,), lambda: [1.0, 2.0]),
    "None": (ScalarType.FLOAT, (2,), lambda: None),
    "text": (ScalarType.FLOAT, (2,), lambda: "ab"),
    "negative strides": (ScalarType.FLOAT, (6,), lambda: F32[::-1]),
    "gaps": (ScalarType.FLOAT, (3,), lambda: F32[::2]),
    "transposed": (ScalarType.FLOAT, (3, 2), lambda: F32.reshape(2, 3).T),
    "repeated": (ScalarType.FLOAT, (4,), lambda: np.broadcast_to(F32[1:2], (4,))),
    "empty": (ScalarType.FLOAT, (0,), lambda: F32[:0]),
    "many dimensions": (ScalarType.FLOAT, (1, 6), lambda: F32.reshape((1,) * 30 + (6,))),
    "other byte order": (ScalarType.FLOAT, (6,), lambda: F32.astype(">f4")),
    "read-only": (ScalarType.FLOAT, (6,), lambda: read_only(F32.copy())),
    "misaligned": (ScalarType.FLOAT, (6,), lambda: misaligned(F32)),
    "misaligned complex": (
        ScalarType.COMPLEX128,
        (3,),
        lambda: misaligned(np.arange(3, dtype=np.complex128)),
    ),
    "complex": (ScalarType.COMPLEX64, (3,), lambda: np.arange(3, dtype=np.complex64)),
    "objects": (ScalarType.LONG, (2,), lambda: np.array([1, 2], object)),
    "dates": (ScalarType.LONG, (2,), lambda: np.array([1, 2], "M8[s]")),
    "texts": (ScalarType.INT, (2,), lambda: np.array(["a", "b"])),
    "records": (ScalarType.LONG, (2,), lambda: np.zeros(2, [("a", "i4"), ("b", "i4")])),
    "other integers": (ScalarType.LONG, (6,), lambda: F32.astype(np.uint64)),
    "integers for booleans": (ScalarType.BOOL, (6,), lambda: F32.astype(np.uint8)),
    "booleans for bytes": (ScalarType.BYTE, (6,), lambda: F32.astype(bool)),
    "halves for bfloat16": (ScalarType.BFLOAT16, (6,), lambda: F32.astype(np.float16)),
    "bits for bfloat16": (ScalarType.BFLOAT16, (6,), lambda: F32.astype(np.uint16)),
    "integers for bfloat16": (ScalarType.BFLOAT16, (6,), lambda: F32.astype(np.int16)),
    "bfloat16": (ScalarType.BFLOAT16, (6,), lambda: F32.astype(ml_dtypes.bfloat16)),
    "bfloat16 with gaps": (ScalarType.BFLOAT16, (3,), lambda: F32.astype(ml_dtypes.bfloat16)[::2]),
    "bits of 16 for halves": (ScalarType.HALF, (6,), lambda: F32.astype(np.uint16)),
}


def answer(program: etconfig.LoadedProgram, given: Any, options: dict[str, Any]) -> object:
    """Return the output as a list with its type, or the error."""
    with program.load_method("forward") as method:
        try:
            output = method.execute([given], **options)[0]
        except InvalidInputError as error:
            return str(error)
        except EtconfigError as error:
            return error
    return output.dtype.name, output.tolist()


def test_every_form_of_input_means_the_same_on_both_executors() -> None:
    wrong: dict[str, Any] = {}
    for name, (scalar_type, sizes, make) in INPUTS.items():
        data = copying(scalar_type, *sizes)
        answers = [
            answer(etconfig.load_program(data, executor=executor), make(), options)
            for executor in ("numpy", "executorch")
            for options in ({}, {"timeout": 60.0})
        ]
        if any(each != answers[0] or isinstance(each, EtconfigError) for each in answers):
            wrong[name] = answers
    assert not wrong


@pytest.mark.parametrize("given", [F32.reshape(1, 6), {"x": F32}, (F32,), [[F32]], iter([F32])])
def test_the_list_of_inputs_means_the_same_on_both_executors(given: Any) -> None:
    def outcome(executor: str) -> object:
        with etconfig.load_program(copying(ScalarType.FLOAT, 6), executor=executor).load_method(
            "forward"
        ) as method:
            try:
                return [each.tolist() for each in method.execute(given)]
            except InvalidInputError as error:
                return str(error)

    assert outcome("numpy") == outcome("executorch")
