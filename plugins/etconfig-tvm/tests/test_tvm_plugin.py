"""`TvmBackend` without TVM: its options, its facts, and what is checked before code is loaded."""

from __future__ import annotations

import os
import platform
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from etconfig_tvm import installed, private_file
from etconfig_tvm.aot.schedule import VectorUnits, choose_tile
from etconfig_tvm.arrays import ALIGNMENT_BYTES, aligned, empty_aligned, is_aligned, same_memory
from etconfig_tvm.engine import build
from etconfig_tvm.errors import PrivateFileError, ThreadPoolError
from etconfig_tvm.facts import etconfig_facts, read_facts
from etconfig_tvm.library_file import check_end, check_library
from etconfig_tvm.options import Runtime, TvmOptions
from etconfig_tvm.plugin import SPEC
from etconfig_tvm.seal import KIND, MAGIC, check_seal, seal
from etconfig_tvm.threads import PoolState, usable_cores, use_threads

import etconfig
from etconfig.plugin.v1 import (
    BackendUnavailableError,
    EngineRange,
    Envelope,
    FactsRequest,
    HostConstraints,
    LibraryError,
    OptionError,
)

README = Path(__file__).parents[1] / "README.md"


class TestOptions:
    """The options refuse what TVM would take without an error."""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"pin_threads": True}, "pin_threads needs cores"),
            ({"cores": (0, 0)}, "names a core twice"),
            ({"cores": ()}, "cores is empty; name a core, or leave cores out"),
            ({"cores": (0,), "num_threads": 2}, "num_threads must be at most 1"),
            ({"runtime": Runtime.FULL, "runtime_library": "a"}, "runtime_library must be empty with runtime"),
            ({"device_index": 1}, "device_index must be 0 for the device 'cpu', not 1; to choose cores, set"),
            ({"num_threads": 0}, "greater than or equal to 1"),
            ({"num_threads": True}, "valid integer"),
            ({"thraeds": 1}, "not permitted"),
        ],
    )
    def test_a_mistake_is_refused(self, options: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            TvmOptions(**options)

    def test_the_readme_names_every_option_and_variable(self) -> None:
        text = README.read_text()
        for name in (*TvmOptions.option_infos(), *SPEC.environment):
            assert f"`{name}`" in text, name


class TestAdvice:
    """The threads follow from the cores, without TVM."""

    def test_cores_alone_conflict_with_the_recommended_threads(self, tmp_path: Path) -> None:
        """The user never wrote the 2, so the message says where it comes from."""
        profile = tmp_path / "board.toml"
        profile.write_text('[profile]\nname = "board"\n[options.TvmBackend]\ncores = [0]\n')
        with pytest.raises(
            OptionError, match=r"at most 1, .* not 2 \(set num_threads too: .*recommended"
        ) as found:
            etconfig.resolve(
                models={"detector": SPEC.id},
                profile=profile,
                facts=etconfig.FactSheet.from_values({"cpu.available_cores": 2}),
                installation=etconfig.Installation().with_backends({SPEC.id: SPEC}),
            )
        (diagnostic,) = found.value.diagnostics
        assert diagnostic.notes == ("num_threads = 2 is recommended on such a device",)

    def test_the_help_of_zero_names_no_other_default(self) -> None:
        with pytest.raises(OptionError, match="given 0") as found:
            etconfig.resolve(
                models={"detector": SPEC.id},
                profile="generic/any",
                overrides={"TvmBackend.num_threads": 0},
                installation=etconfig.Installation().with_backends({SPEC.id: SPEC}),
            )
        assert "cpu.available_cores" not in str(found.value)

    @pytest.mark.parametrize(
        ("facts", "threads"),
        [
            ({"cpu.available_cores": 8, "cpu.performance_cores": 4}, 4),
            ({"cpu.available_cores": 2, "cpu.performance_cores": 4}, 2),
            ({"cpu.available_cores": 3}, 3),
            ({}, 1),
        ],
    )
    def test_num_threads(self, facts: dict[str, object], threads: int) -> None:
        config = etconfig.resolve(
            models={"detector": SPEC.id},
            profile="generic/any",
            facts=etconfig.FactSheet.from_values(facts),  # type: ignore[arg-type]  # of the facts' types
            installation=etconfig.Installation().with_backends({SPEC.id: SPEC}),
        )
        assert config.options_for("detector").num_threads == threads


class TestInstalled:
    """A missing part is found without importing TVM, and named with the fix."""

    @pytest.fixture
    def nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(installed.importlib.util, "find_spec", lambda name: None)

    @pytest.mark.usefixtures("nothing")
    def test_no_ffi(self) -> None:
        answer = installed.availability()
        assert (answer.is_available, answer.reason) == (False, "apache-tvm-ffi is not installed")
        assert answer.fix == "pip install apache-tvm, or pip install apache-tvm-ffi alone"
        with pytest.raises(BackendUnavailableError, match="apache-tvm-ffi is not installed"):
            installed.check_ffi()

    @pytest.mark.usefixtures("nothing")
    def test_no_runtime_library(self) -> None:
        with pytest.raises(BackendUnavailableError, match="runtime_library is not set; `pip install"):
            installed.find_runtime_library()
        assert installed.runtime_libraries() == ()

    def test_a_wrong_path_of_the_runtime_library(self) -> None:
        with pytest.raises(BackendUnavailableError, match="there is no such file; correct the path"):
            installed.find_runtime_library("/nowhere/libtvm_runtime.so")

    def test_the_given_runtime_library_is_used(self, tmp_path: Path) -> None:
        path = tmp_path / "libtvm_runtime.so"
        path.touch()
        assert installed.find_runtime_library(str(path)) == path

    def test_a_relative_path_begins_at_the_current_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The system would look for a name without a directory in its own directories only."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "libtvm_runtime.so").touch()
        for given in ("libtvm_runtime.so", "./libtvm_runtime.so"):
            assert installed.find_runtime_library(given) == tmp_path / "libtvm_runtime.so"
        with pytest.raises(BackendUnavailableError, match=f"no such file in '{tmp_path}', the current dir"):
            installed.find_runtime_library("other.so")

    def test_the_libraries_are_named_by_their_kind(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "lib").mkdir()
        for name in ("compiler", "runtime", "runtime_cuda"):
            (tmp_path / "lib" / f"{installed._PREFIX}tvm_{name}{installed._SUFFIX}").touch()
        monkeypatch.setattr(installed, "library_directory", lambda: tmp_path / "lib")
        assert installed.runtime_libraries() == ("compiler", "runtime", "runtime_cuda")

    def test_unknown_facts_have_a_reason(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("etconfig_tvm.facts.version_of", lambda name: None)
        monkeypatch.setattr("etconfig_tvm.facts.runtime_libraries", lambda: ())
        reasons = {reading.name: reading.reason for reading in read_facts(None)}  # type: ignore[arg-type]
        assert reasons == {
            "tvm.version": "apache-tvm is not installed",
            "tvm.ffi_version": "apache-tvm-ffi is not installed",
            "tvm.libraries": "apache-tvm is not installed",
        }

    def test_every_fact_has_a_detector(self) -> None:
        facts = etconfig_facts(FactsRequest(name="tvm", core_api=1))
        assert {info.name for info in facts.facts} == {*facts.detectors[0].provides}


def test_importing_the_plugin_loads_nothing_of_tvm() -> None:
    code = (
        "import sys, etconfig_tvm.plugin as plugin; plugin.SPEC.options(); "
        "print([name for name in ('tvm', 'tvm_ffi', 'torch', 'numpy') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def _elf(machine: int, *, kind: int = 3, bits: int = 2) -> bytes:
    return b"\x7fELF" + bytes([bits, 1]) + bytes(10) + struct.pack("<HH", kind, machine)


class TestLibraryFile:
    """A library for another device is refused by its header, before its code is loaded."""

    @pytest.mark.parametrize(
        ("header", "message"),
        [
            (b"", "it is empty"),
            (b"a", "it is not a shared library"),
            (b"ETAP" + bytes(60), "it is not a shared library"),
            (_elf(62, kind=2), "it is not a shared library"),
            (_elf(243), "it is for riscv64 with 64 bits, and this process is"),
            (_elf(40, bits=1), "it is for arm with 32 bits"),
            (_elf(9999), "it is for machine 9999"),
            (b"MZ\x90\x00" + bytes(60), "it is a library for Windows, and this is Linux"),
            (b"\xcf\xfa\xed\xfe" + bytes(60), "it is a library for macOS, and this is Linux"),
        ],
    )
    def test_another_library_is_refused(
        self, header: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("platform.system", lambda: "Linux")
        path = tmp_path / "model.so"
        path.write_bytes(header)
        with pytest.raises(LibraryError, match=message), path.open("rb") as file:
            check_library(file, path)

    @pytest.mark.skipif(platform.system() != "Linux", reason="reads a library of Linux")
    def test_a_library_that_is_cut_off_is_refused(self, tmp_path: Path) -> None:
        """The system would end the process that uses its missing parts."""
        import _ctypes

        path = tmp_path / "model.so"
        whole = Path(_ctypes.__file__).read_bytes()
        path.write_bytes(whole)
        with path.open("rb") as file:
            check_end(file, path)
        for size_bytes in (20, 63, 64, 100, len(whole) // 2, len(whole) - 2):
            path.write_bytes(whole[:size_bytes])
            with (
                pytest.raises(LibraryError, match=f"it is cut off: .*{size_bytes} .*copy it again"),
                path.open("rb") as file,
            ):
                check_end(file, path)

    @pytest.mark.parametrize("name", ["model.so", "mo\0del.so", ""])
    def test_a_missing_file_is_named(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(LibraryError, match=r"cannot be loaded: .*; correct the path"):
            build(TvmOptions(), tmp_path / name)

    @pytest.mark.parametrize("machine", ["aarch64", "arm64"])
    def test_a_library_for_this_machine_is_accepted(
        self, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("platform.system", lambda: "Linux")
        monkeypatch.setattr("platform.machine", lambda: machine)
        path = tmp_path / "model.so"
        path.write_bytes(_elf(183).ljust(64, b"\0"))
        with path.open("rb") as file:
            check_library(file, path)


_WHOLE = (_elf(62).ljust(40, b"\0") + struct.pack("<Q", 64)).ljust(64, b"\0")
"""A library with nothing but a header."""


class TestSeal:
    """The checksum of a library is compared before its code is loaded."""

    ENVELOPE = Envelope(backend="TvmBackend", kind=KIND)

    def _check(self, path: Path, data: bytes, engine_version: str | None = None) -> bool:
        path.write_bytes(data)
        with path.open("rb") as file:
            return check_seal(file, path, engine_version)

    def test_every_flipped_bit_is_noticed(self, tmp_path: Path) -> None:
        """A flip in the last 8 bytes leaves a part of the seal behind, which `check_end` refuses."""
        library = _WHOLE + bytes(range(256))
        sealed = bytearray(seal(library, self.ENVELOPE))
        path = tmp_path / "model.so"
        assert self._check(path, bytes(sealed))
        for bit in range(8 * (len(sealed) - 8)):
            sealed[bit // 8] ^= 1 << bit % 8
            with pytest.raises(LibraryError):
                self._check(path, bytes(sealed))
            sealed[bit // 8] ^= 1 << bit % 8

    def test_a_part_of_a_seal_is_damage(self, tmp_path: Path) -> None:
        library = _WHOLE
        sealed = seal(library, self.ENVELOPE)
        path = tmp_path / "model.so"
        for data in (sealed[:-1], sealed[:-1] + b"?", sealed + b"\n"):
            assert not self._check(path, data)
            with pytest.raises(LibraryError, match="its checksum is not whole"), path.open("rb") as file:
                check_end(file, path)
        for data in (library, library + b"\0"):
            assert not self._check(path, data)
            with path.open("rb") as file:
                check_end(file, path)

    def test_what_it_is_for_is_compared(self, tmp_path: Path) -> None:
        path = tmp_path / "model.so"
        engine = EngineRange(name="apache-tvm", min="0.27", below="0.28")
        for host, version, message in (
            (HostConstraints(arch="riscv64"), "0.27", "it needs a device with cpu.arch 'riscv64'"),
            (
                HostConstraints(features=("avx9000",)),
                "0.27",
                "instructions avx9000, .*; compile the model",
            ),
            (HostConstraints(), "0.31", "it needs apache-tvm >=0.27, <0.28; version 0.31 is installed"),
        ):
            envelope = Envelope(backend="TvmBackend", kind=KIND, engine=engine, host=host)
            with pytest.raises(LibraryError, match=message):
                self._check(path, seal(b"library", envelope), version)

    @pytest.mark.parametrize("size", [0, 1, 8, 15, 16, 17])
    def test_hostile_lengths(self, size: int, tmp_path: Path) -> None:
        path = tmp_path / "model.so"
        for length in (0, 1, 1 << 20, 1 << 40, (1 << 64) - 1):
            with pytest.raises(LibraryError, match="it is damaged"):
                self._check(path, bytes(size) + length.to_bytes(8, "little") + MAGIC)


@pytest.mark.posix
class TestPrivateFiles:
    """An error names the place that cannot be written to, and the variable that changes it."""

    def test_an_absent_directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
        with (
            pytest.raises(PrivateFileError, match=r"absent.*No such file.*set TMPDIR to a directory"),
            private_file.private_file([b"code"]),
        ):
            pass

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_no_room(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        monkeypatch.setattr(
            private_file.os, "memfd_create", lambda name: os.open("/dev/full", os.O_RDWR), raising=False
        )
        with (
            pytest.raises(PrivateFileError, match=r"4 bytes cannot be written in .*No space left"),
            private_file.private_file([b"co", b"de"]),
        ):
            pass
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("has_memory_files", [True, False])
    def test_each_file_has_a_path_that_is_removed(
        self, has_memory_files: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not has_memory_files:
            monkeypatch.delattr(private_file.os, "memfd_create", raising=False)
        with private_file.private_file([b"a", b"b"]) as one, private_file.private_file([b"b"]) as two:
            assert (one.read_bytes(), two.read_bytes()) == (b"ab", b"b")
            assert one.parent.stat().st_mode & 0o777 == 0o700
        assert not one.parent.exists()
        assert not two.parent.exists()


class TestArrays:
    """Compiled code reads arrays that begin at a multiple of 64 bytes."""

    def test_every_offset_is_aligned(self) -> None:
        memory = empty_aligned((256,), np.dtype(np.uint8))
        memory[:] = range(256)
        for offset in range(0, 128, 4):
            array = memory[offset : offset + 64].view(np.float32)
            assert is_aligned(array) is (offset % ALIGNMENT_BYTES == 0)
            result = aligned(array)
            assert is_aligned(result)
            assert result.tobytes() == array.tobytes()
            assert (result is array) is is_aligned(array)

    def test_read_only_and_strided_arrays_are_copied(self) -> None:
        array = empty_aligned((4, 4), np.dtype(np.float32))
        array[:] = np.arange(16).reshape(4, 4)
        assert np.array_equal(aligned(array.T), array.T)
        array.flags.writeable = False
        assert is_aligned(aligned(array))

    @pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (3, 5)])
    def test_any_shape(self, shape: tuple[int, ...]) -> None:
        assert empty_aligned(shape, np.dtype(np.float64)).shape == shape

    def test_the_same_memory_keeps_nothing_alive(self) -> None:
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        before = sys.getrefcount(array)
        view = same_memory(array)
        view[1, 2] = 7
        assert (array[1, 2], sys.getrefcount(array)) == (7, before)


class _Pool:
    """A stand-in for TVM's pool of a thread: as large as its first call asks."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size
        self.used = 0
        self.pool = PoolState()
        self.calls: list[tuple[int, int, tuple[int, ...]]] = []

    def configure_threads(self, mode: int, count: int, cores: tuple[int, ...]) -> None:
        self.calls.append((mode, count, cores))
        self.size = count if self.size is None else self.size
        self.used = min(count, self.size)

    def count_threads(self) -> int:
        return self.used


@pytest.fixture
def _four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that may use four cores, in a thread that has not run TVM."""
    monkeypatch.setattr("etconfig_tvm.threads.usable_cores", lambda: (0, 1, 2, 3))
    monkeypatch.setenv("TVM_BIND_THREADS", "0")


@pytest.mark.usefixtures("_four_cores")
class TestThreads:
    """The pool is made as large as possible first; the number that TVM reports is compared."""

    def test_a_pool_can_grow_again(self) -> None:
        pool = _Pool()
        for count in (1, 4, 2):
            use_threads(pool, TvmOptions(num_threads=count))  # type: ignore[arg-type]
            assert pool.count_threads() == count
        assert pool.calls[0] == (-3, 4, (0, 1, 2, 3))

    def test_equal_options_cost_no_call(self) -> None:
        pool = _Pool()
        for _ in range(3):
            use_threads(pool, TvmOptions(num_threads=2))  # type: ignore[arg-type]
        assert len(pool.calls) == 2

    def test_cores_and_pinning_are_passed_on(self) -> None:
        pool = _Pool()
        use_threads(pool, TvmOptions(num_threads=2, cores=(3, 1), pin_threads=True))  # type: ignore[arg-type]
        assert pool.calls[-1] == (-2, 2, (3, 1, 0, 2))

    def test_more_threads_than_cores_are_refused(self) -> None:
        with pytest.raises(ThreadPoolError, match=r"num_threads is 5, and .*this process may use 4 cores:"):
            use_threads(_Pool(), TvmOptions(num_threads=5))  # type: ignore[arg-type]

    @pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="asks the system for a thread's cores")
    def test_the_main_thread_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("etconfig_tvm.threads.usable_cores", lambda: (0,))
        with pytest.raises(ThreadPoolError, match="and the main thread of this process may use 1 core: "):
            use_threads(_Pool(), TvmOptions(num_threads=2))  # type: ignore[arg-type]

    def test_an_absent_core_is_refused(self) -> None:
        with pytest.raises(ThreadPoolError, match=r"cores names 9, and .*this process may use the"):
            use_threads(_Pool(), TvmOptions(cores=(9,)))  # type: ignore[arg-type]

    def test_a_pool_that_somebody_made_smaller_is_reported(self) -> None:
        pool = _Pool(size=2)
        use_threads(pool, TvmOptions(num_threads=1))  # type: ignore[arg-type]
        with pytest.raises(ThreadPoolError, match="pool of this thread with 2 before; set the environ"):
            use_threads(pool, TvmOptions(num_threads=3))  # type: ignore[arg-type]
        assert pool.count_threads() == 1


def test_the_usable_cores_are_those_of_the_process() -> None:
    assert usable_cores()


class TestTiles:
    """A tile divides the output, fits into the registers, and needs the fewest loads for each product."""

    @pytest.mark.parametrize("registers", [16, 32])
    def test_against_every_other_tile(self, registers: int) -> None:
        for rows in range(1, 60):
            for vectors in range(1, 20):
                chosen = choose_tile(rows, vectors, registers)
                fitting = [
                    (r, v)
                    for r in range(1, 15)
                    for v in range(1, 9)
                    if rows % r == 0 and vectors % v == 0 and r * v + v + 1 <= registers
                ]
                assert chosen in fitting
                best = max(r * v / (r + v) for r, v in fitting)
                assert chosen[0] * chosen[1] / sum(chosen) == pytest.approx(best)

    def test_the_registers_follow_from_the_instruction_set(self) -> None:
        assert VectorUnits.of_features(["avx", "avx512f"], "x86_64") == VectorUnits(lanes=16, registers=32)
        assert VectorUnits.of_features(["avx"], "x86_64") == VectorUnits(lanes=8, registers=16)
        assert VectorUnits.of_features([], "x86_64") == VectorUnits(lanes=4, registers=16)
        assert VectorUnits.of_features(["neon"], "arm64") == VectorUnits(lanes=4, registers=32)
