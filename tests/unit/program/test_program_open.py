"""Opening, sharing and closing programs."""

from __future__ import annotations

import mmap
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace as Pte
from typing import Any

import pytest

from etconfig.errors import MethodNotFoundError, ProgramError, UnreadableProgramError, UnsupportedProgramError
from etconfig.program.limits import Limits
from etconfig.program.program import Verification, open_program
from etconfig.program.source import LoadMode

CORPUS = Path(__file__).parents[2] / "data" / "programs"
LINEAR = CORPUS / "linear.pte"


class TestSources:
    """A program comes from a path, which is opened once, or from bytes."""

    @pytest.mark.parametrize("source", [LINEAR, str(LINEAR)], ids=["path", "text"])
    @pytest.mark.parametrize("load_mode", [LoadMode.File, LoadMode.Mmap])
    def test_a_path_is_remembered_as_text(self, source: Any, load_mode: Any) -> None:
        program = open_program(source, load_mode=load_mode)
        assert program.path == str(LINEAR)
        assert program.size_bytes == LINEAR.stat().st_size
        assert repr(program) == f"<Program {LINEAR}: 1596 bytes, 1 methods>"

    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_bytes_of_any_kind_are_read_and_have_no_path(self, kind: Any) -> None:
        program = open_program(kind(LINEAR.read_bytes()))
        assert program.path is None
        assert program.method_names == ("forward",)
        assert repr(program) == "<Program in memory: 1596 bytes, 1 methods>"

    def test_mutable_bytes_are_copied_so_that_verified_bytes_do_not_change(self) -> None:
        data = bytearray(LINEAR.read_bytes())
        program = open_program(data, verification=Verification.Minimal)
        data[:] = bytes(len(data))
        assert program.plan("forward").name == "forward"

    def test_immutable_bytes_are_not_copied(self) -> None:
        data = LINEAR.read_bytes()
        assert open_program(data).constant(1, 48).obj is data

    def test_a_mapped_file_is_not_copied(self) -> None:
        assert isinstance(open_program(LINEAR, load_mode=LoadMode.Mmap).constant(1, 48).obj, mmap.mmap)

    @pytest.mark.parametrize("load_mode", [LoadMode.File, LoadMode.Mmap])
    def test_views_are_read_only(self, load_mode: Any) -> None:
        assert open_program(LINEAR, load_mode=load_mode).constant(1, 48).readonly

    @pytest.mark.parametrize("load_mode", ["lazy"])
    def test_an_unknown_load_mode_is_refused(self, load_mode: Any) -> None:
        with pytest.raises(TypeError, match=r"load_mode: expected a member of etconfig\.LoadMode"):
            open_program(LINEAR, load_mode=load_mode)


class TestUnreadable:
    """A file that cannot be read is a typed error that says why."""

    @pytest.mark.parametrize("load_mode", [LoadMode.File, LoadMode.Mmap])
    def test_a_directory_is_refused(self, tmp_path: Path, load_mode: Any) -> None:
        with pytest.raises(UnreadableProgramError) as caught:
            open_program(tmp_path, load_mode=load_mode)
        assert str(caught.value) == f"{tmp_path}: Is a directory [unreadable-file]"

    @pytest.mark.posix
    def test_a_pipe_is_refused_without_waiting_for_a_writer(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.pte")
        with pytest.raises(UnreadableProgramError) as caught:
            open_program(tmp_path / "pipe.pte")
        assert caught.value.message.endswith("pipe.pte: it is not a regular file [unreadable-file]")
        assert caught.value.help == "give the path of a .pte"

    def test_a_path_with_a_zero_byte_is_refused(self) -> None:
        with pytest.raises(UnreadableProgramError, match="embedded null byte"):
            open_program("a\0b.pte")

    @pytest.mark.parametrize("load_mode", [LoadMode.File, LoadMode.Mmap])
    def test_an_empty_file_is_not_a_program(self, tmp_path: Path, load_mode: Any) -> None:
        (tmp_path / "empty.pte").touch()
        with pytest.raises(ProgramError, match="found an empty file"):
            open_program(tmp_path / "empty.pte", load_mode=load_mode)

    @pytest.mark.parametrize("source", [LINEAR, LINEAR.read_bytes()], ids=["path", "bytes"])
    def test_a_file_above_the_limit_is_refused(self, source: Any) -> None:
        with pytest.raises(UnsupportedProgramError, match="a file of 1596 bytes exceeds the limit of 1595"):
            open_program(source, limits=Limits(max_file_bytes=1595))

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    def test_no_file_descriptor_stays_open(self, tmp_path: Path) -> None:
        good, broken = tmp_path / "good.pte", tmp_path / "broken.pte"
        good.write_bytes(LINEAR.read_bytes())
        broken.write_bytes(LINEAR.read_bytes()[:1000])
        program = open_program(good)
        with pytest.raises(ProgramError):
            open_program(broken)
        open_files = {os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()}
        assert program.path == str(good)
        assert not open_files & {str(good), str(broken)}


class TestPlans:
    """Plans are read once, at the time that the level of verification sets."""

    def test_the_default_verifies_every_plan_at_once(self, pte: Pte) -> None:
        data = pte.write(pte.plan(name="good"), pte.plan(name="bad", inputs=[7]))
        with pytest.raises(ProgramError, match=r"execution_plan\[1\]\.inputs\[0\]"):
            open_program(data)

    def test_minimal_verifies_a_plan_before_it_is_used(self, pte: Pte) -> None:
        data = pte.write(pte.plan(name="good"), pte.plan(name="bad", inputs=[7]))
        program = open_program(data, verification=Verification.Minimal)
        assert program.plan("good").inputs == ()
        texts = set()
        for _ in range(10):
            with pytest.raises(ProgramError) as caught:
                program.plan("bad")
            texts.add(str(caught.value))
        assert len(texts) == 1  # a failed attempt costs no work budget
        assert "execution_plan[1].inputs[0]" in texts.pop()

    def test_a_plan_is_read_once_also_by_many_threads(self) -> None:
        program = open_program(CORPUS / "two_methods.pte", verification=Verification.Minimal)
        barrier, plans = threading.Barrier(8), []

        def ask() -> None:
            barrier.wait()
            plans.append(program.plan("forward"))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(plans) == 8
        assert {id(plan) for plan in plans} == {id(program.plan("forward"))}

    def test_an_unknown_method_is_guessed(self) -> None:
        program = open_program(LINEAR)
        with pytest.raises(MethodNotFoundError) as caught:
            program.plan("foward")
        assert str(caught.value) == (
            "the program has no method 'foward'; it has 'forward'; did you mean 'forward'?"
        )

    def test_a_program_may_have_no_methods(self, pte: Pte) -> None:
        assert open_program(pte.write()).method_names == ()


class TestClose:
    """Closing releases the file; views of its bytes stay valid."""

    @pytest.mark.parametrize("load_mode", [LoadMode.File, LoadMode.Mmap])
    def test_a_closed_program_refuses_every_access(self, load_mode: Any) -> None:
        with open_program(LINEAR, load_mode=load_mode) as program:
            weights = program.constant(1, 48)
            before = bytes(weights)
        program.close()
        for use in (
            lambda: program.plan("forward"),
            lambda: program.constant(1, 48),
            lambda: program.mutable_initial_data(0, 1, 1),
            lambda: program.named_data,
        ):
            with pytest.raises(UnreadableProgramError, match="the program was closed"):
                use()
        assert bytes(weights) == before
        assert program.method_names == ("forward",)


class TestImmutable:
    """Nothing can be assigned to a program: threads share it."""

    @pytest.mark.parametrize("name", ["path", "method_names", "x"])
    def test_assigning_is_refused(self, name: str) -> None:
        program: Any = open_program(LINEAR)
        with pytest.raises(AttributeError, match=f"^a Program is immutable: '{name}' cannot be assigned$"):
            setattr(program, name, 1)
        assert not hasattr(program, "x")
        assert program.path == str(LINEAR)

    def test_deleting_is_refused(self) -> None:
        program: Any = open_program(LINEAR)
        with pytest.raises(AttributeError, match=r"^a Program is immutable: 'path' cannot be deleted$"):
            del program.path

    def test_closing_still_works(self) -> None:
        program = open_program(LINEAR)
        program.close()
        with pytest.raises(ProgramError, match="closed"):
            program.plan("forward")
