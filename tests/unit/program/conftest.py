"""`pte`: the writer of programs, and the error of opening a malformed one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import program_writer as writer
import pytest

from etconfig.errors import ProgramError
from etconfig.program.program import open_program


def refusal(data: bytes) -> tuple[str, str]:
    """Return the code and the region inside the plan of the error that opening `data` raises."""
    with pytest.raises(ProgramError) as caught:
        open_program(data)
    assert caught.value.offset is not None
    return caught.value.code, caught.value.region.removeprefix("execution_plan[0].")


@pytest.fixture(scope="session")
def pte() -> SimpleNamespace:
    """The writer: `pte.write(pte.plan(values=[pte.tensor()]))` is the bytes of a program."""
    functions: tuple[Any, ...] = (writer.table, writer.value, writer.tensor, writer.instruction, writer.plan)
    functions += (writer.write, writer.write_plan, writer.write_tensor, writer.write_data_file, writer.named)
    functions += (writer.write_bundle, writer.recorded, writer.suite, writer.union, refusal)
    functions += (writer.Node, writer.Raw)
    return SimpleNamespace(**{function.__name__.lower(): function for function in functions})
