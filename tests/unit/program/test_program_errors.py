"""Every program error code: the smallest file with the problem, and the exact text."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace as Pte

import pytest

from etconfig.errors import (
    MalformedProgramError,
    NotAProgramError,
    ProgramError,
    TruncatedProgramError,
    UnreadableProgramError,
    UnsupportedProgramError,
)
from etconfig.program.limits import Limits
from etconfig.program.program import open_program
from etconfig.program.program_errors import PROGRAM_ERROR_CODES

DEFAULT = Limits()


@dataclass(frozen=True)
class Case:
    """A file, and the error that opening it raises; the text ends in the code."""

    code: str
    error: type[ProgramError]
    build: Callable[[Pte], bytes]
    text: str
    advice: str | None = None
    limits: Limits = DEFAULT


def one_value(pte: Pte, **fields: object) -> bytes:
    return pte.write(pte.plan(values=[pte.tensor(**fields)]))


CASES = [
    Case(
        "not-a-program",
        NotAProgramError,
        lambda pte: b"\x7fELF\x02\x01\x01\x00",
        "file at byte 0: expected an ExecuTorch program (.pte), which has 'ET12' at byte 4, "
        "found a shared library, such as a model that TVM compiled",
        advice="name it as [model.NAME], with its backends, in a TOML file for --models or models=; its own "
        "file is an argument of build()",
    ),
    Case(
        "unsupported-version",
        UnsupportedProgramError,
        lambda pte: pte.write(pte.plan(), identifier=b"ET13"),
        "file at byte 4: the program's schema is ET13, this version reads ET12",
        "export the model again with ExecuTorch 1.x",
    ),
    Case(
        "limit-exceeded",
        UnsupportedProgramError,
        lambda pte: pte.write(pte.plan(values=[pte.value("Int", int_val=1), pte.value("Int", int_val=2)])),
        "execution_plan[0].values at byte 112: a vector of 2 elements exceeds the limit of 1",
        "if you trust the file, raise Limits.max_values",
        Limits(max_values=1),
    ),
    Case(
        "truncated",
        TruncatedProgramError,
        lambda pte: pte.write(pte.plan(), header={"program_size": 9999}),
        "extended header at byte 0: needs 9999 bytes, but only 256 are there",
    ),
    Case(
        "bad-header",
        MalformedProgramError,
        lambda pte: pte.write(pte.plan(), header={"length": 23}),
        "extended header at byte 12: its length is 23, at least 24 is needed",
    ),
    Case(
        "missing-header",
        MalformedProgramError,
        lambda pte: pte.write(segments=[pte.table("DataSegment", offset=0, size=4)]),
        "segments[0] at byte 68: the file has segments, but no header says where they start",
    ),
    Case(
        "bad-offset",
        MalformedProgramError,
        lambda pte: pte.write(execution_plan=[pte.raw(0)]),
        "execution_plan[0] at byte 48: the offset is 0",
    ),
    Case(
        "misaligned",
        MalformedProgramError,
        lambda pte: pte.write(execution_plan=pte.raw(7)),
        "execution_plan at byte 43: the vector is not aligned to its elements",
    ),
    Case(
        "bad-vtable",
        MalformedProgramError,
        lambda pte: pte.write()[:8] + struct.pack("<H", 3) + pte.write()[10:],
        "root.vtable at byte 8: it claims 3 bytes for itself and 16 for its table",
    ),
    Case(
        "bad-string",
        MalformedProgramError,
        lambda pte: pte.write(pte.plan(name=pte.node("s", b"caf\xe9!"))),
        "execution_plan[0].name at byte 139: the string is not UTF-8: invalid continuation byte",
    ),
    Case(
        "missing-field",
        MalformedProgramError,
        lambda pte: pte.write(pte.plan(inputs=None)),
        "execution_plan[0].inputs at byte 76: the field is required, but absent",
    ),
    Case(
        "unknown-value",
        UnsupportedProgramError,
        lambda pte: one_value(pte, scalar_type=50),
        "execution_plan[0].values[0].scalar_type at byte 172: this version does not know scalar_type 50",
    ),
    Case(
        "index-out-of-range",
        MalformedProgramError,
        lambda pte: pte.write(pte.plan(inputs=[0])),
        "execution_plan[0].inputs[0] at byte 120: 0 is not an index into values, there are none",
    ),
    Case(
        "wrong-value-type",
        MalformedProgramError,
        lambda pte: pte.write(pte.plan(values=[pte.value("Int"), pte.value("TensorList", items=[0])])),
        "execution_plan[0].values[1].items[0] at byte 192: values[0] is of type INT, expected TENSOR",
    ),
    Case(
        "negative-size",
        MalformedProgramError,
        lambda pte: one_value(pte, sizes=[-1]),
        "execution_plan[0].values[0].sizes at byte 172: [-1] holds a negative size",
    ),
    Case(
        "rank-too-large",
        MalformedProgramError,
        lambda pte: one_value(pte, sizes=[1] * 17, dim_order=list(range(17))),
        "execution_plan[0].values[0].sizes at byte 172: "
        "the tensor has 17 dimensions, at most 16 are supported",
    ),
    Case(
        "tensor-too-large",
        MalformedProgramError,
        lambda pte: one_value(pte, sizes=[2**31 - 1, 2**31 - 1], dim_order=[0, 1]),
        "execution_plan[0].values[0].sizes at byte 172: [2147483647, 2147483647] takes 2**63 bytes or more",
    ),
    Case(
        "bad-dim-order",
        MalformedProgramError,
        lambda pte: one_value(pte, sizes=[2, 2], dim_order=[0, 0]),
        "execution_plan[0].values[0].dim_order at byte 172: "
        "[0, 0] is not a permutation of the tensor's 2 dimensions",
    ),
    Case(
        "bad-memory-plan",
        MalformedProgramError,
        lambda pte: one_value(pte, sizes=[17]),
        "execution_plan[0].values[0].allocation_info at byte 172: "
        "bytes 0 to 68 of memory 1 are planned, which has 64 bytes",
    ),
    Case(
        "unsupported-storage-offset",
        UnsupportedProgramError,
        lambda pte: one_value(pte, storage_offset=4),
        "execution_plan[0].values[0].storage_offset at byte 172: "
        "only tensors at offset 0 of their storage are supported, this one is at 4",
    ),
    Case(
        "duplicate-name",
        MalformedProgramError,
        lambda pte: pte.write(pte.plan(), pte.plan()),
        "execution_plan[1].name at byte 252: another method is named 'forward'",
    ),
    Case(
        "overlapping-segments",
        MalformedProgramError,
        lambda pte: pte.write(
            payloads=[bytes(32)],
            segments=[
                pte.table("DataSegment", offset=0, size=16),
                pte.table("DataSegment", offset=8, size=24),
            ],
        ),
        "segments[1] at byte 168: it starts before segments[0] ends, at 176",
    ),
    Case(
        "conflicting-constants",
        MalformedProgramError,
        lambda pte: pte.write(
            payloads=[bytes(8)],
            constant_buffer=[pte.table("Buffer"), pte.table("Buffer", storage=b"1234")],
            constant_segment=pte.table("SubsegmentOffsets", segment_index=0, offsets=[0, 0]),
        ),
        "constant_segment at byte 188: there are 2 constants in constant_buffer as well",
    ),
]


class TestTexts:
    """Every error names the problem and its place, what was expected and what to do."""

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
    def test_a_file_with_the_problem_raises_exactly_this(self, case: Case, pte: Pte) -> None:
        with pytest.raises(ProgramError) as caught:
            open_program(case.build(pte), limits=case.limits)
        assert type(caught.value) is case.error
        assert caught.value.code == case.code
        assert caught.value.message == f"{case.text} [{case.code}]"
        assert caught.value.help == case.advice

    def test_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        path = tmp_path / "missing.pte"
        with pytest.raises(UnreadableProgramError) as caught:
            open_program(path)
        assert str(caught.value) == f"{path}: No such file or directory [unreadable-file]"

    def test_a_program_that_was_closed(self, pte: Pte) -> None:
        program = open_program(pte.write(pte.plan()))
        program.close()
        with pytest.raises(UnreadableProgramError) as caught:
            program.plan("forward")
        assert str(caught.value) == "file: the program was closed [program-closed]; open it again"

    def test_the_list_of_codes_is_closed(self) -> None:
        tested = {case.code for case in CASES} | {"unreadable-file", "program-closed", "changed-file"}
        tested |= {
            "not-a-data-file",
            "missing-external-data",
            "external-data-mismatch",
        }  # test_flat_tensor.py
        assert tested == set(PROGRAM_ERROR_CODES)

    def test_an_error_names_the_file_and_pickles(self, tmp_path: Path, pte: Pte) -> None:
        path = tmp_path / "broken.pte"
        path.write_bytes(pte.write(pte.plan(inputs=[0])))
        with pytest.raises(MalformedProgramError) as caught:
            open_program(path)
        assert str(caught.value).startswith(f"{path}: execution_plan[0].inputs[0] at byte 120: ")
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
