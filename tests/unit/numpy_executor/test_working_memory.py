"""`working_memory`: what a method takes on the numpy executor, compared with a method that is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig.errors import MissingOperatorError
from etconfig.kernel import memory
from etconfig.numpy_executor import compile as compiling
from etconfig.numpy_executor.working_memory import WorkingMemory, working_memory
from etconfig.program.program import Program

DATA = Path(__file__).parents[2] / "data"
PROGRAMS = [
    *((DATA / "digits").glob("*.pte")),
    *((DATA / "programs").glob("*.pte")),
]


class Recording(memory.Scratch):
    """Records the blocks and the converted constants of a method that is loaded."""

    made: list[Recording] = []  # noqa: RUF012  # a test empties it

    def __init__(self) -> None:
        super().__init__()
        self.blocks: dict[int, int] = {}
        self.made.append(self)

    def arrays(self, *wanted: Any) -> Any:
        found = super().arrays(*wanted)
        self.blocks[memory.address_of(self._block)] = len(self._block)
        return found

    @property
    def kept_bytes(self) -> int:
        pairs = self._kept.values()
        return sum(made.nbytes for source, made in pairs if not np.may_share_memory(source, made))


def found_for(path: Path, name: str) -> WorkingMemory:
    with etconfig.load_program(path) as program:
        return working_memory(program.program, program.program.plan(name), program.installation.kernels)


def test_it_is_within_what_loaded_methods_allocate(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    for path in sorted(PROGRAMS):
        with etconfig.load_program(path) as program:
            for name in program.method_names:
                if program.backends(name):
                    continue
                plan = program.program.plan(name)
                with monkeypatch.context() as patched:
                    patched.setattr(compiling, "Scratch", Recording)
                    Recording.made = []
                    try:
                        program.load_method(name).close()
                    except etconfig.errors.EtconfigError:  # no kernel, or no data
                        continue
                (real,) = Recording.made
                found = working_memory(program.program, plan, program.installation.kernels)
                least, most = real.kept_bytes, real.kept_bytes + sum(real.blocks.values())
                folded = sum(plan.non_const_buffer_sizes) + program.program.constant_bytes
                assert least <= found.kernel_bytes <= most + folded, (path.name, name)
                pairs = zip(found.arena_bytes, plan.non_const_buffer_sizes, strict=True)
                assert all(used <= planned for used, planned in [*pairs][1:]), (path.name, name)
                compared += 1
    assert compared > 15


def test_no_constant_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    path = DATA / "digits" / "digits_portable.pte"
    before = found_for(path, "forward")

    def refuse(*arguments: object) -> memoryview:
        raise AssertionError("a constant was read")

    monkeypatch.setattr(Program, "constant", refuse)
    assert found_for(path, "forward") == before
    assert before.kernel_bytes > 0


def test_kernels_that_are_missing_are_named() -> None:
    path = DATA / "digits" / "digits_portable.pte"
    with etconfig.load_program(path) as program, pytest.raises(MissingOperatorError):
        working_memory(program.program, program.program.plan("forward"), {})
