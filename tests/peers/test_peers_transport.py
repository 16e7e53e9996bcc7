"""`.etargs` files and generated code in C++: with sanitizers, and in ExecuTorch's own runtime."""

from __future__ import annotations

import shutil
import struct
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from etargs_mutations import SOUND, mutant, refused
from packages import configuration, packed

from etconfig.schema import Scope
from etconfig.transport import (
    INCLUDE,
    Package,
    PackedBackend,
    PackedConfiguration,
    PackedMethod,
    PackedOption,
    emit,
    write_package,
)

COMPILER = shutil.which("g++")
pytestmark = [pytest.mark.peers, pytest.mark.skipif(COMPILER is None, reason="there is no g++")]

HERE = Path(__file__).parent
PROGRAM = HERE.parent / "data" / "programs" / "xnnpack.pte"
MUTANTS = 50_000
STRICT = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}"]
SANITIZED = ["-O1", "-g", "-fno-exceptions", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
OK, REFUSED = "load 0x0", "load 0x12"


def build(source: Path, target: Path, *flags: str) -> Path:
    command = [str(COMPILER), str(source), "-o", str(target), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def executorch_flags() -> list[str]:
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations
    wheel = Path(spec.submodule_search_locations[0])
    # its headers do not compile cleanly with our compiler warnings
    include = wheel / "include"
    return [
        "-std=c++17",
        *("-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_EVENT_TRACER_ENABLED", "-DET_USE_THREADPOOL"),
        *("-isystem", str(include), "-isystem", str(include / "executorch/runtime/core/portable_type/c10")),
        *(f"-I{INCLUDE}", f"-L{wheel / 'lib'}", f"-Wl,-rpath,{wheel / 'lib'}", "-Wl,--no-as-needed"),
        *("-lexecutorch", "-lexecutorch_kernels_optimized"),
        *("-lexecutorch_backend_xnnpack", "-lexecutorch_threadpool"),
    ]


class TestDamage:
    """No damage harms either reader, and the C++ reader accepts every file that the Python reader accepts."""

    def test_of_50000_files(self, tmp_path: Path) -> None:
        reader = build(HERE / "transport" / "etargs_fuzz.cpp", tmp_path / "fuzz", *STRICT, *SANITIZED)
        files = [SOUND, *map(mutant, range(MUTANTS))]
        sized = b"".join(struct.pack("<I", len(data)) + data for data in files)
        done = subprocess.run([reader], input=sized, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        statuses = done.stdout.decode()
        assert len(statuses) == len(files)
        accepted = [index for index, data in enumerate(files) if not refused(data)]
        assert len(accepted) > 100
        assert {statuses[index] for index in accepted} == {"0"}
        assert statuses.count("0") < 0.2 * MUTANTS


def board(mode: int) -> PackedConfiguration:
    options: tuple[PackedOption, ...] = (
        packed("workspace_sharing_mode", "per_model", sent=mode),
        packed("weight_cache_enabled", False),
        packed("note", 'Ü"\\?\n', is_set=False),
        packed("smallest", -(2**31)),
        packed("num_threads", 2, key=None, scope=Scope.PROCESS, is_set=False),
        packed("packed_cache_path", None),
        packed("share", 0.5, is_set=False),
    )
    return configuration("board", PackedMethod("forward", None, (PackedBackend("XnnpackBackend", options),)))


MAP = [
    "XnnpackBackend weight_cache_enabled bool 0",
    'XnnpackBackend note text Ü"\\?',
    "",
    "XnnpackBackend smallest int -2147483648",
]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("runner") / "run"
    return build(HERE / "transport" / "run_with_options.cpp", target, *executorch_flags())


def run(program: Path, etargs: Path, name: str = "board") -> list[str]:
    command = [program, etargs, name, PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


class TestRuntime:
    """The options of a file reach the backends of the real runtime."""

    @pytest.mark.parametrize(("mode", "outcome"), [(1, [OK, "execute 0x0"]), (7, [REFUSED])])
    def test_the_backend_sees_the_values(
        self, runner: Path, tmp_path: Path, mode: int, outcome: list[str]
    ) -> None:
        (tmp_path / "x.etargs").write_bytes(write_package(Package("test", (board(mode),))))
        sharing = f"XnnpackBackend workspace_sharing_mode int {mode}"
        assert run(runner, tmp_path / "x.etargs") == ["left out 0 and 0", sharing, *MAP, *outcome]

    def test_options_that_the_map_cannot_carry_are_counted(self, runner: Path, tmp_path: Path) -> None:
        options = (packed("a", 0.5), packed("b", 2**31), packed("c", "x" * 256), packed("d", "a\0b"))
        process = packed("num_threads", 2, key=None, scope=Scope.PROCESS)
        backend = PackedBackend("XnnpackBackend", (*options, process))
        package = Package("test", (configuration("board", PackedMethod("forward", None, (backend,))),))
        (tmp_path / "x.etargs").write_bytes(write_package(package))
        assert run(runner, tmp_path / "x.etargs") == ["left out 4 and 1", OK, "execute 0x0"]

    def test_generated_code_gives_the_same_map(self, tmp_path: Path) -> None:
        header = tmp_path / "options.h"
        header.write_text(emit(board(7), "cpp", "etconfig 1.2"), "utf-8")
        flags = [f'-DGENERATED="{header}"', *executorch_flags()]
        program = build(HERE / "transport" / "run_with_options.cpp", tmp_path / "run", *flags)
        sharing = "XnnpackBackend workspace_sharing_mode int 7"
        assert run(program, tmp_path / "none") == [sharing, *MAP, REFUSED]

    def test_generated_code_sets_options_of_the_process(self, tmp_path: Path) -> None:
        level = packed("level", 3, scope=Scope.PROCESS)
        backend = PackedBackend("XnnpackBackend", (level,))
        code = emit(configuration("board", PackedMethod("forward", None, (backend,))), "cpp", "etconfig")
        source = tmp_path / "process.cpp"
        source.write_text(
            f"{code}\nint main() {{ return static_cast<int>(etconfig_options::set_process_options()); }}\n"
        )
        program = build(source, tmp_path / "process", *executorch_flags())
        assert subprocess.run([program], check=False).returncode == 0
