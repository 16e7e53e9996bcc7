"""Files larger than a block, which are read in parts on demand, into private memory."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace as Pte
from typing import Any

import pytest

from etconfig.errors import TruncatedProgramError, UnreadableProgramError
from etconfig.program import program, source
from etconfig.program.flat_tensor import open_data_file
from etconfig.program.program import Program, Verification, open_program
from etconfig.program.source import LoadMode

CORPUS = Path(__file__).parents[2] / "data" / "programs"
BLOCK = 64


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "FILE_BLOCK_BYTES", BLOCK)


def write_large(pte: Pte, path: Path, payload_bytes: int) -> Path:
    """Write a program with one constant of 8 bytes at the end of a sparse segment."""
    constant = pte.tensor(allocation_info=None, data_buffer_idx=1)
    offsets = pte.table("SubsegmentOffsets", segment_index=0, offsets=[0, payload_bytes - 8])
    data = pte.write(
        pte.plan(values=[constant]),
        payloads=[b""],
        header={"segment_data_size": payload_bytes},
        segments=[pte.table("DataSegment", offset=0, size=payload_bytes)],
        constant_segment=offsets,
    )
    path.write_bytes(data)
    with path.open("r+b") as file:
        file.seek(len(data) + payload_bytes - 8)
        file.write(b"constant")
    return path


def everything(program: Program) -> list[object]:
    """Return all plans, constants and payloads."""
    plans = [program.plan(name) for name in program.method_names]
    segments = [program.named_data[key].tobytes() for key in program.named_data]
    payloads = [program.delegate_data(each).tobytes() for plan in plans for each in plan.delegates]
    count = len(program._used.contents.payloads.constants) if program._used.contents else 0
    return [plans, segments, payloads, *(program.constant(i, 0).tobytes() for i in range(1, count))]


class TestReading:
    """Parts are read on demand, and give the same as a file that was read at once."""

    @pytest.mark.parametrize("path", sorted(CORPUS.glob("*.pte")), ids=lambda path: path.stem)
    def test_every_program_reads_the_same_in_parts(self, path: Path) -> None:
        assert path.stat().st_size > BLOCK
        assert everything(open_program(path)) == everything(open_program(path.read_bytes()))

    def test_data_files_read_the_same_in_parts(self) -> None:
        for path in CORPUS.glob("*.ptd"):
            blobs = open_data_file(path).blobs
            at_once = open_data_file(path.read_bytes()).blobs
            assert {k: b.data.tobytes() for k, b in blobs.items()} == {
                k: b.data.tobytes() for k, b in at_once.items()
            }

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    @pytest.mark.parametrize("load_mode", [LoadMode.File, LoadMode.Mmap])
    def test_opening_takes_memory_for_the_tables_only(
        self, pte: Pte, tmp_path: Path, load_mode: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.undo()
        path = write_large(pte, tmp_path / "large.pte", 500 << 20)
        before = resident_bytes()
        program = open_program(path, load_mode=load_mode)
        assert resident_bytes() - before < 5 << 20
        assert bytes(program.constant(1, 8)) == b"constant"
        assert resident_bytes() - before < 5 << 20

    def test_bytes_that_were_read_no_longer_depend_on_the_file(self, pte: Pte, tmp_path: Path) -> None:
        path = write_large(pte, tmp_path / "large.pte", 10 * BLOCK)
        program = open_program(path)
        constant = program.constant(1, 8)
        path.write_bytes(b"")
        assert bytes(constant) == bytes(program.constant(1, 8)) == b"constant"

    def test_threads_that_ask_at_once_read_the_same(self, pte: Pte, tmp_path: Path) -> None:
        program = open_program(write_large(pte, tmp_path / "large.pte", 1000 * BLOCK))
        barrier, found = threading.Barrier(8), []

        def ask() -> None:
            barrier.wait()
            found.append(bytes(program.constant(1, 8)))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [b"constant"] * 8


class TestFailures:
    """A part that cannot be read is a typed error, and may be tried again."""

    @pytest.mark.parametrize("left", [0, 8, 30])
    def test_a_file_that_became_shorter_is_truncated(self, pte: Pte, tmp_path: Path, left: int) -> None:
        path = write_large(pte, tmp_path / "large.pte", 10 * BLOCK)
        program = open_program(path)
        os.truncate(path, path.stat().st_size - 8 - left)
        with pytest.raises(TruncatedProgramError) as caught:
            program.constant(1, 8)
        offset = program.segments[0].end - 8
        assert str(caught.value) == (
            f"{path}: constants at byte {offset}: needs 8 bytes, but only 0 are there [truncated]"
        )

    def test_tables_that_became_shorter_while_opening_are_truncated(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "linear.pte"
        path.write_bytes((CORPUS / "linear.pte").read_bytes())
        read, sizes = os.preadv, []

        def shrink(*args: Any) -> int:
            sizes.append(path.stat().st_size)
            os.truncate(path, 3 * BLOCK)
            return read(*args)

        monkeypatch.setattr(os, "preadv", shrink)
        with pytest.raises(TruncatedProgramError, match=f"but only {3 * BLOCK} are there"):
            open_program(path)
        assert sizes[0] > sizes[1]

    def test_an_error_of_the_system_is_typed_and_passes(
        self, pte: Pte, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program = open_program(write_large(pte, tmp_path / "large.pte", 10 * BLOCK))

        def fail(*_: object) -> int:
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as patched:
            patched.setattr(os, "preadv", fail)
            with pytest.raises(UnreadableProgramError, match=r"large.pte: Input/output error \[unreadable"):
                program.constant(1, 8)
        assert bytes(program.constant(1, 8)) == b"constant"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
class TestDescriptors:
    """A file that is read in parts stays open as long as more of it may be needed."""

    def test_it_is_closed_with_the_program(self, pte: Pte, tmp_path: Path) -> None:
        path = write_large(pte, tmp_path / "large.pte", 10 * BLOCK)
        program = open_program(path)
        constant = program.constant(1, 8)
        assert is_open(path)
        program.close()
        assert not is_open(path)
        assert bytes(constant) == b"constant"

    def test_it_is_closed_with_a_program_that_is_dropped(self, pte: Pte, tmp_path: Path) -> None:
        path = write_large(pte, tmp_path / "large.pte", 10 * BLOCK)
        program: Program | None = open_program(path)
        assert program is not None
        program = None
        assert not is_open(path)

    def test_it_is_closed_when_the_program_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "broken.pte"
        path.write_bytes((CORPUS / "linear.pte").read_bytes()[:1000])
        with pytest.raises(TruncatedProgramError):
            open_program(path)
        assert not is_open(path)

    def test_named_data_can_be_read_after_the_program_was_closed(self) -> None:
        path = CORPUS / "xnnpack.pte"
        program = open_program(path)
        named_data = program.named_data
        program.close()
        assert {key: bytes(data) for key, data in named_data.items()} == {
            key: bytes(data) for key, data in open_program(path.read_bytes()).named_data.items()
        }


def is_open(path: Path) -> bool:
    """Return True if this process has a descriptor of the file."""
    return str(path) in {os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()}


def resident_bytes() -> int:
    """Return the memory that this process takes now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
class TestForks:
    """A child process is not blocked by a lock that a thread of its parent had taken."""

    @pytest.mark.posix
    @pytest.mark.parametrize(
        ("module", "name", "work"),
        [
            (source, "_read_at", lambda opened: opened.constant(1, 8)),
            (program, "_read_plan", lambda opened: opened.plan("forward")),
        ],
    )
    def test_a_fork_while_a_thread_reads(
        self,
        pte: Pte,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        module: Any,
        name: str,
        work: Callable[[Program], object],
    ) -> None:
        opened = open_program(
            write_large(pte, tmp_path / "large.pte", 1000), verification=Verification.Minimal
        )
        read, entered, leave = getattr(module, name), threading.Event(), threading.Event()
        main = threading.get_ident()

        def slow(*given: Any) -> Any:
            if threading.get_ident() != main:
                entered.set()
                leave.wait(60)
            return read(*given)

        monkeypatch.setattr(module, name, slow)
        thread = threading.Thread(target=work, args=[opened])
        thread.start()
        assert entered.wait(60)
        child = os.fork()
        if not child:
            signal.alarm(60)
            work(opened)
            os._exit(7)
        status = os.waitpid(child, 0)[1]
        leave.set()
        thread.join()
        assert os.waitstatus_to_exitcode(status) == 7
