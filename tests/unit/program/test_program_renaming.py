"""`rename_backend`: the delegates of a program get a backend of another name."""

from __future__ import annotations

from pathlib import Path

import pytest

from etconfig.errors import NotAProgramError
from etconfig.program.editing.replacing import rename_backend
from etconfig.program.model import ExecutionPlan
from etconfig.program.program import Program, open_program

PROGRAMS = Path(__file__).parents[2] / "data" / "programs"
OLD = "XnnpackBackend"
NAMES = ["X", "AcmeBackend", OLD, "A" * 63]


def plans(program: Program) -> list[ExecutionPlan]:
    return [program.plan(name) for name in program.method_names]


def renamed(plan: ExecutionPlan, new: str) -> ExecutionPlan:
    delegates = (each._replace(id=new) if each.id == OLD else each for each in plan.delegates)
    return plan._replace(delegates=tuple(delegates))


def payloads(program: Program) -> list[bytes]:
    return [bytes(program.delegate_data(each)) for plan in plans(program) for each in plan.delegates]


@pytest.mark.parametrize("name", ["xnnpack", "xnnpack_inline", "xnnpack_two_methods"])
@pytest.mark.parametrize("new", NAMES, ids=[f"{len(name)}-letters" for name in NAMES])
class TestRename:
    """Only the name changes, and it may have any length."""

    def test_every_delegate_has_the_new_name(self, name: str, new: str) -> None:
        data = (PROGRAMS / f"{name}.pte").read_bytes()
        before, after = open_program(data), open_program(rename_backend(data, OLD, new))
        assert OLD in {each.id for plan in plans(before) for each in plan.delegates}
        assert plans(after) == [renamed(plan, new) for plan in plans(before)]
        assert payloads(after) == payloads(before)

    def test_segments_keep_their_place_and_alignment(self, name: str, new: str) -> None:
        data = (PROGRAMS / f"{name}.pte").read_bytes()
        before, after = open_program(data), open_program(rename_backend(data, OLD, new))
        assert [each.size_bytes for each in after.segments] == [each.size_bytes for each in before.segments]
        moved_bytes = {a.start - b.start for a, b in zip(after.segments, before.segments, strict=True)}
        assert len(moved_bytes) <= 1
        assert all(moved % 128 == 0 for moved in moved_bytes)  # what ExecuTorch aligns them to


def test_another_backend_keeps_its_name() -> None:
    data = (PROGRAMS / "xnnpack.pte").read_bytes()
    assert plans(open_program(rename_backend(data, "AcmeBackend", "B"))) == plans(open_program(data))


def test_other_files_are_refused() -> None:
    with pytest.raises(NotAProgramError):
        rename_backend(b"PK\3\4" * 20, OLD, "AcmeBackend")
