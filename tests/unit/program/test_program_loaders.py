"""Programs from data loaders, open files and mapped files, and payloads in memory of their own."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from every import every

from etconfig.errors import ProgramError, TruncatedProgramError, UnreadableProgramError
from etconfig.program import source
from etconfig.program.flat_tensor import open_data_file
from etconfig.program.program import Program, open_program
from etconfig.program.source import DataLoader, LoadMode

CORPUS = Path(__file__).parents[2] / "data" / "programs"
XNNPACK = CORPUS / "xnnpack.pte"
BLOCK = 64


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "FILE_BLOCK_BYTES", BLOCK)
    monkeypatch.setattr(source, "APART_BYTES", 4 * BLOCK)


class Loader:
    """A data loader over bytes, which records what is asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.calls: list[tuple[int, int]] = []

    def size(self) -> int:
        return len(self.data)

    def load(self, offset: int, size: int) -> bytes | memoryview:
        self.calls.append((offset, size))
        return memoryview(bytearray(self.data[offset : offset + size]))


def everything(program: Program) -> list[object]:
    """Return all plans, named data and payloads."""
    plans = [program.plan(name) for name in program.method_names]
    payloads = [bytes(program.delegate_data(each)) for plan in plans for each in plan.delegates]
    return [plans, {key: bytes(data) for key, data in program.named_data.items()}, payloads]


def payload(program: Program) -> memoryview:
    return program.delegate_data(program.plan("forward").delegates[0])


class TestSources:
    """Every kind of source gives the same program."""

    @every("path", sorted(CORPUS.glob("*.pte")), ids=lambda path: path.stem)
    @every(
        "make",
        [
            lambda path: nullcontext(Loader(path.read_bytes())),
            lambda path: io.BytesIO(path.read_bytes()),
            lambda path: path.open("rb", buffering=0),
            lambda path: path.open("rb"),
        ],
        ids=["loader", "BytesIO", "raw file", "buffered file"],
    )
    def test_a_program_reads_the_same(self, path: Path, make: Callable[[Path], Any]) -> None:
        with make(path) as given:
            assert everything(open_program(given)) == everything(open_program(path.read_bytes()))

    @pytest.mark.parametrize("mode", [*LoadMode])
    def test_every_load_mode_reads_the_same(self, mode: LoadMode) -> None:
        if mode is LoadMode.MmapUseMlock and sys.platform == "win32":
            pytest.skip("Windows locks no pages on request")
        assert everything(open_program(XNNPACK, load_mode=mode)) == everything(open_program(XNNPACK))

    def test_data_files_come_from_loaders_too(self) -> None:
        path = CORPUS.parent / "exports" / "external_constants.ptd"
        given, read = open_data_file(Loader(path.read_bytes())), open_data_file(path)
        assert given.path is None
        assert {key: bytes(each.data) for key, each in given.blobs.items()} == {
            key: bytes(each.data) for key, each in read.blobs.items()
        }

    def test_a_file_of_the_caller_stays_open(self) -> None:
        with XNNPACK.open("rb") as file:
            open_program(file).close()
            gc.collect()
            assert not file.closed

    def test_only_needed_parts_are_loaded(self) -> None:
        loader = Loader(XNNPACK.read_bytes())
        program = open_program(loader)
        tables = sum(size for _, size in loader.calls)
        assert tables < len(loader.data)
        payload(program)
        assert sum(size for _, size in loader.calls) > tables

    def test_a_loader_is_a_data_loader(self) -> None:
        assert isinstance(Loader(b""), DataLoader)
        assert isinstance(open_program(XNNPACK).loader(), DataLoader)

    @pytest.mark.parametrize("given", [5, None, io.StringIO("x"), [b"x"], io.BytesIO])
    def test_other_objects_are_refused(self, given: Any) -> None:
        with pytest.raises(
            TypeError, match=r"source: expected a path, .* or an object with size\(\) and load"
        ):
            open_program(given)

    @pytest.mark.parametrize("given", [b"x", Loader(b"x"), io.BytesIO(b"x")])
    def test_only_a_path_can_be_mapped(self, given: Any) -> None:
        with pytest.raises(ValueError, match="load_mode Mmap is for the path of a file, given"):
            open_program(given, load_mode=LoadMode.Mmap)


class TestBadLoaders:
    """Whatever a loader does, the error is a ProgramError."""

    def test_every_prefix_is_refused(self) -> None:
        data = (CORPUS / "add.pte").read_bytes()
        for end in range(0, len(data), 97):
            with pytest.raises(ProgramError):
                everything(open_program(Loader(data[:end])))

    def test_short_reads_are_truncations(self) -> None:
        class Short(Loader):
            def load(self, offset: int, size: int) -> bytes:
                return self.data[offset : min(offset + size, 200)]

        with pytest.raises(TruncatedProgramError, match="but only 200 are there"):
            open_program(Short(XNNPACK.read_bytes()))

    def test_reads_in_small_pieces_are_joined(self) -> None:
        class Small(Loader):
            def load(self, offset: int, size: int) -> bytes:
                return self.data[offset : offset + min(size, 7)]

        data = XNNPACK.read_bytes()
        assert everything(open_program(Small(data))) == everything(open_program(data))

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (b"x" * 100_000, r"returned 100000 bytes for load\(0, \d+\)"),
            (None, r"load\(0, \d+\) failed: TypeError"),
            ("text", r"load\(0, \d+\) failed: TypeError"),
            (OSError("no network"), r"load\(0, \d+\) failed: OSError: no network"),
            (RuntimeError("closed"), r"load\(0, \d+\) failed: RuntimeError: closed"),
        ],
    )
    def test_wrong_answers_are_typed_errors(self, answer: Any, message: str) -> None:
        class Wrong(Loader):
            def load(self, offset: int, size: int) -> Any:
                if isinstance(answer, Exception):
                    raise answer
                return answer

        with pytest.raises(UnreadableProgramError, match=message):
            open_program(Wrong(XNNPACK.read_bytes()))

    @pytest.mark.parametrize("size", [-1, 1.5, None, True])
    def test_a_wrong_size_is_a_typed_error(self, size: Any) -> None:
        class Wrong(Loader):
            def size(self) -> Any:
                return size

        with pytest.raises(
            UnreadableProgramError, match=r"size\(\) returned .*, expected the number of bytes"
        ):
            open_program(Wrong(b""))

    def test_a_loader_without_bytes_is_a_truncation_of_the_file(self) -> None:
        class Empty(Loader):
            def load(self, offset: int, size: int) -> bytes:
                return b""

        with pytest.raises(TruncatedProgramError, match=r"^file at byte 0: needs 8 bytes"):
            open_program(Empty(XNNPACK.read_bytes()))

    def test_a_loader_that_changes_its_mind_later_changes_nothing(self) -> None:
        loader = Loader((CORPUS / "linear.pte").read_bytes())
        program = open_program(loader)
        before = bytes(program.constant(1, 48))
        loader.data = bytes(len(loader.data))
        assert bytes(program.constant(1, 48)) == before

    def test_a_payload_that_is_other_when_read_again_is_refused(self) -> None:
        loader = Loader(XNNPACK.read_bytes())
        program = open_program(loader)
        assert payload(program).nbytes >= source.APART_BYTES
        gc.collect()
        at = loader.data.index(bytes(payload(program)))
        loader.data = loader.data[:at] + bytes([loader.data[at] ^ 1]) + loader.data[at + 1 :]
        with pytest.raises(UnreadableProgramError, match=r"may be others now .*\[changed-file\]"):
            payload(program)


class TestPayloads:
    """The payload of a delegate is freed with its last view, and read again when it is needed again."""

    def test_views_of_one_time_share_memory(self) -> None:
        program = open_program(XNNPACK)
        one, other = payload(program), payload(program)
        assert one.obj is other.obj
        assert one.readonly

    def test_a_mapped_file_that_became_shorter_is_truncated(self, tmp_path: Path) -> None:
        path = tmp_path / "model.pte"
        path.write_bytes(XNNPACK.read_bytes())
        program = open_program(path, load_mode=LoadMode.Mmap)
        assert program.header is not None
        os.truncate(path, program.header.program_size)
        with pytest.raises(TruncatedProgramError, match="processed"):
            payload(program)

    def test_a_view_stays_valid_while_others_are_dropped(self) -> None:
        program = open_program(XNNPACK)
        kept = payload(program)
        before = bytes(kept)
        del program
        gc.collect()
        assert bytes(kept) == before

    def test_a_file_that_was_written_since_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "model.pte"
        path.write_bytes(XNNPACK.read_bytes())
        program = open_program(path)
        payload(program)
        with path.open("r+b") as file:
            file.seek(-8, os.SEEK_END)
            file.write(b"changed!")
        os.utime(path, ns=(1, 1))
        with pytest.raises(
            UnreadableProgramError, match=r"read before, and may be others now .*\[changed-file\]"
        ):
            payload(program)

    def test_a_file_that_was_replaced_is_still_the_one_that_was_opened(self, tmp_path: Path) -> None:
        path = tmp_path / "model.pte"
        path.write_bytes(XNNPACK.read_bytes())
        program = open_program(path)
        before = bytes(payload(program))
        (tmp_path / "new.pte").write_bytes(b"new")
        (tmp_path / "new.pte").replace(path)
        assert bytes(payload(program)) == before

    def test_the_loader_serves_tables_that_were_verified(self, tmp_path: Path) -> None:
        path = tmp_path / "model.pte"
        data = XNNPACK.read_bytes()
        path.write_bytes(data)
        program = open_program(path)
        path.write_bytes(bytes(len(data)))
        assert program.header is not None
        tables = program.header.program_size
        loader = program.loader()
        assert (loader.size(), bytes(loader.load(0, tables))) == (len(data), data[:tables])
        with pytest.raises(ProgramError):
            loader.load(len(data) - 1, 2)


def test_a_lock_that_the_system_refuses_is_an_error_unless_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(view: memoryview) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(source, "_lock_pages", refuse)
    with pytest.raises(UnreadableProgramError, match="Cannot allocate memory"):
        open_program(XNNPACK, load_mode=LoadMode.MmapUseMlock)
    open_program(XNNPACK, load_mode=LoadMode.MmapUseMlockIgnoreErrors)
