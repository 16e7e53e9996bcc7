"""`replace_payloads`: the same program with other payloads, in the tables or in segments."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_writer import plan, table, write

from etconfig.errors import MalformedProgramError, NotAProgramError
from etconfig.program.editing.replacing import replace_payloads
from etconfig.program.model import DataLocation
from etconfig.program.program import Program, open_program

DATA = Path(__file__).parents[2] / "data" / "programs"
XNNPACK = "XnnpackBackend"

PROGRAMS = [DATA / f"{name}.pte" for name in ("xnnpack", "xnnpack_inline", "xnnpack_two_methods")]


def payloads(program: Program) -> list[bytes]:
    """Return every payload, method by method."""
    delegates = (each for name in program.method_names for each in program.plan(name).delegates)
    return [bytes(program.delegate_data(delegate)) for delegate in delegates]


def delegating(**fields: object) -> bytes:
    """Return a program of one method that delegates an inline payload to B."""
    processed = table("BackendDelegateDataReference", location=0, index=0)
    delegate = table("BackendDelegate", id="B", processed=processed)
    inline = [table("BackendDelegateInlineData", data=b"payload")]
    return write(plan(delegates=[delegate]), **{"backend_delegate_data": inline, **fields})


class TestReplacePayloads:
    """A delegate gets another payload, from and to any place; everything else stays as it was."""

    @pytest.mark.parametrize("location", DataLocation)
    @pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
    def test_a_new_payload_lies_in_the_requested_place(self, path: Path, location: DataLocation):
        program = path.read_bytes()
        before = open_program(program)
        after = open_program(replace_payloads(program, XNNPACK, lambda payload: payload, location))
        assert payloads(after) == payloads(before)
        delegates = [each for name in after.method_names for each in after.plan(name).delegates]
        assert {delegate.processed.location for delegate in delegates} == {location}
        assert {key: bytes(data) for key, data in after.named_data.items()} == {
            key: bytes(data) for key, data in before.named_data.items()
        }
        assert after.unclaimed() == ()

    @pytest.mark.parametrize("location", DataLocation)
    @pytest.mark.parametrize("size_bytes", [0, 1, 5000])
    def test_a_new_payload_may_have_any_size(self, size_bytes: int, location: DataLocation):
        program = (DATA / "xnnpack_two_methods.pte").read_bytes()
        changed = replace_payloads(program, XNNPACK, lambda payload: b"x" * size_bytes, location)
        assert set(payloads(open_program(changed))) == {b"x" * size_bytes}

    @pytest.mark.parametrize("location", DataLocation)
    def test_a_program_without_a_header_gets_one(self, location: DataLocation):
        program = delegating()
        assert open_program(program).header is None
        changed = open_program(replace_payloads(program, "B", lambda payload: payload * 2, location))
        assert payloads(changed) == [b"payloadpayload"]
        assert changed.header is not None

    def test_inline_payloads_are_aligned_as_executorch_does(self):
        program = (DATA / "xnnpack.pte").read_bytes()
        changed = replace_payloads(program, XNNPACK, lambda payload: b"needle", DataLocation.INLINE)
        assert changed.index(b"needle") % 16 == 0

    @pytest.mark.parametrize("name", ["xnnpack", "xnnpack_inline"])
    def test_a_new_payload_lies_where_the_old_one_did_by_default(self, name: str):
        program = (DATA / f"{name}.pte").read_bytes()
        location = DataLocation.INLINE if name == "xnnpack_inline" else DataLocation.SEGMENT
        changed = open_program(replace_payloads(program, XNNPACK, bytes))
        assert [each.processed.location for each in changed.plan("forward").delegates] == [location]

    def test_other_backends_keep_theirs(self):
        program = (DATA / "xnnpack.pte").read_bytes()
        changed = replace_payloads(program, "AcmeBackend", lambda payload: b"")
        assert payloads(open_program(changed)) == payloads(open_program(program))

    def test_other_files_are_refused(self):
        with pytest.raises(NotAProgramError):
            replace_payloads(b"something else", XNNPACK, bytes)

    def test_a_program_without_room_for_the_reference_is_refused(self):
        with pytest.raises(MalformedProgramError, match=r"segments.*absent, so it cannot refer to anything"):
            replace_payloads(delegating(segments=None), "B", bytes)
