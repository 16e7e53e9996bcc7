"""`device_executorch.h`: the options of a bundle in ExecuTorch's own runtime."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from bundle_tables import list_tables
from compilers import compiled
from packed_options import configuration, packed

import etconfig
from etconfig.device.builders import emit
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.step_counter import counted
from etconfig.device.bundle.tables import BundleTables, StoredKind, ValueRow
from etconfig.device.deciding.configurations import PackedBackend, PackedMethod, PackedOption
from etconfig.schema.declaration import Scope

COMPILER = shutil.which("g++")
pytestmark = [pytest.mark.peers, pytest.mark.skipif(COMPILER is None, reason="there is no g++")]

HERE = Path(__file__).parent
DEMO = HERE.parents[1] / "examples" / "on_device" / "demo.py"
PROGRAM = HERE.parent / "data" / "programs" / "xnnpack.pte"
PROFILE = """
[profile]
name = "acme/board"
match = 'os.name == "linux" && "XnnpackBackend" in runtime.backends'

[options.XnnpackBackend]
weight_cache_enabled = false
workspace_sharing_mode = "per_model"
num_threads = { expr = "min(cpu.available_cores, 3)" }

[[when]]
if = "cpu.available_cores == 7"
options.XnnpackBackend.single_threaded = true
"""


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    """The demo, which knows how to build a program with the executorch that is installed."""
    spec = spec_from_file_location("on_device_demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(demo: ModuleType, source: Path, target: Path, *flags: str | Path) -> Path:
    """Build a program as the demo does."""
    command = demo.compile_command(source, target)
    at = command.index("-o")
    return compiled([*command[:at], *command[at + 2 :], *flags], target)


@pytest.fixture(scope="module")
def runner(demo: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of these tests."""
    target: Path = tmp_path_factory.mktemp("device") / "run"
    return build(demo, HERE / "device" / "run_on_device.cpp", target)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of one profile, which the device selects."""
    directory = tmp_path_factory.mktemp("bundle")
    profile = directory / "acme" / "board.toml"
    profile.parent.mkdir()
    profile.write_text(PROFILE)
    target = directory / "app.etbundle"
    etconfig.pack_bundle(etconfig.load_program(PROGRAM), profiles=[profile]).save(target)
    return target


class TestRuntime:
    """The choices of a bundle reach the backends of the real runtime."""

    @pytest.mark.parametrize(("cores", "threads"), [(2, 2), (8, 3), (7, 1)])
    def test_the_backend_gets_its_options_and_threads(
        self, runner: Path, bundle: Path, cores: int, threads: int
    ) -> None:
        command = [str(runner), str(bundle), str(PROGRAM), str(cores)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        assert done.returncode == 0, done.stdout + done.stderr
        assert lines[:3] == ["XnnpackBackend is there", "profile acme/board", "left out 0"]
        assert "XnnpackBackend workspace_sharing_mode int 1" in lines
        assert "XnnpackBackend weight_cache_enabled bool 0" in lines
        assert not any("num_threads" in line or "single_threaded" in line for line in lines)
        assert lines[-3:] == [f"threads {threads}", "load 0x0", "execute 0x0"]

    def test_booleans_that_are_joined_are_those_of_python(self, runner: Path, tmp_path: Path) -> None:
        path = tmp_path / "flags.etbundle"
        path.write_bytes(write_tables(flag_tables()))
        command = [str(runner), str(path), str(PROGRAM)]
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
        joined = ";".join(map(str, [True, False, True]))  # as etconfig/wire/wired_values.py does
        assert f"XnnpackBackend flags text {joined}" in lines

    def test_an_integer_with_a_separator_is_sent_as_text(self, runner: Path, tmp_path: Path) -> None:
        path = tmp_path / "budget.etbundle"
        tables = flag_tables()
        values = (*tables.values, ValueRow(2**40, 0, StoredKind.INTEGER, 0))
        option = tables.options[0]._replace(default_value=3, kind=1, maximum=2.0**50)
        path.write_bytes(write_tables(counted(replace(tables, values=values, options=(option,)))))
        command = [str(runner), str(path), str(PROGRAM)]
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
        assert f"XnnpackBackend flags text {2**40}" in lines


class TestResolvedWhenPacking:
    """A configuration that was resolved when packing brings the same options to the same runtime."""

    @pytest.mark.parametrize("cores", [2, 7])
    def test_the_backend_gets_its_options_and_threads(
        self, runner: Path, bundle: Path, tmp_path: Path, cores: int
    ) -> None:
        facts = {"os.name": "linux", "cpu.available_cores": cores, "runtime.backends": ["XnnpackBackend"]}
        resolution = etconfig.resolve(
            etconfig.load_program(PROGRAM),
            profile=bundle.with_name("acme") / "board.toml",
            facts=etconfig.FactSheet.empty(),
            fact_overrides=facts,
        )
        packed = tmp_path / "packed.etbundle"
        etconfig.pack_resolutions({"acme/board": resolution}).save(packed)
        outputs = [
            subprocess.run([runner, path, PROGRAM, str(cores)], capture_output=True, text=True, check=True)
            for path in (packed, bundle)
        ]
        assert outputs[0].stdout == outputs[1].stdout
        assert outputs[0].stdout.endswith(f"threads {1 if cores == 7 else 2}\nload 0x0\nexecute 0x0\n")

    def test_options_that_nothing_carries_are_counted(self, runner: Path, tmp_path: Path) -> None:
        path = "forward:XnnpackBackend.packed_cache_path"
        others = {"XnnpackBackend.weight_cache_enabled": True, "XnnpackBackend.num_threads": 1}
        for length, left_out in ((255, 0), (256, 1)):
            resolution = etconfig.resolve(
                etconfig.load_program(PROGRAM),
                profile="generic/any",
                facts=etconfig.FactSheet.empty(),
                overrides={path: "x" * length, **others},
            )
            packed = tmp_path / "packed.etbundle"
            etconfig.pack_resolutions({"board": resolution}).save(packed)
            done = subprocess.run(
                [runner, packed, PROGRAM], capture_output=True, text=True, check=True, cwd=tmp_path
            )  # XNNPACK writes the cache to its current directory
            assert done.stdout.splitlines()[1:3] == ["profile board", f"left out {left_out}"]


class TestGeneratedCode:
    """Generated code compiles with all warnings as errors, and brings the same options to the runtime."""

    def build(self, demo: ModuleType, directory: Path, *options: PackedOption) -> Path:
        method = PackedMethod("forward", None, (PackedBackend("XnnpackBackend", options),))
        header = directory / "options.h"
        header.write_text(emit(configuration("board", method), "cpp", "etconfig 1.2"), "utf-8")
        target = directory / "run"
        generated = ('-DGENERATED="options.h"', "-I", directory)
        return build(demo, HERE / "device" / "run_generated.cpp", target, *generated)

    @pytest.mark.parametrize(("is_single", "threads"), [(False, 3), (True, 1)])
    @pytest.mark.parametrize(("mode", "outcome"), [(1, ["load 0x0", "execute 0x0"]), (7, ["load 0x12"])])
    def test_the_map_and_the_threads_are_those_of_the_options(
        self, demo: ModuleType, tmp_path: Path, is_single: bool, threads: int, mode: int, outcome: list[str]
    ) -> None:
        program = self.build(
            demo,
            tmp_path,
            packed("workspace_sharing_mode", "per_model", sent=mode),
            packed("weight_cache_enabled", False),
            packed("note", 'Ü"\\?\n', is_set=False),
            packed("smallest", -(2**31)),
            packed("num_threads", 3, key=None),
            packed("single_threaded", is_single, key=None, is_set=is_single),
            packed("packed_cache_path", None),
            packed("share", 0.5, is_set=False),
        )
        done = subprocess.run([program, PROGRAM], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == [
            f"XnnpackBackend workspace_sharing_mode int {mode}",
            "XnnpackBackend weight_cache_enabled bool 0",
            'XnnpackBackend note text Ü"\\?',
            "",
            "XnnpackBackend smallest int -2147483648",
            f"threads {threads}",
            *outcome,
        ]

    def test_an_empty_map_is_filled(self, demo: ModuleType, tmp_path: Path) -> None:
        program = self.build(demo, tmp_path, packed("num_threads", 2, key=None))
        done = subprocess.run([program, PROGRAM], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == ["threads 2", "load 0x0", "execute 0x0"]

    def test_options_of_the_process_are_set(self, demo: ModuleType, tmp_path: Path) -> None:
        level = packed("level", 3, scope=Scope.PROCESS)
        backend = PackedBackend("XnnpackBackend", (level,))
        code = emit(configuration("board", PackedMethod("forward", None, (backend,))), "cpp", "etconfig")
        source = tmp_path / "process.cpp"
        main = "int main() { return static_cast<int>(etconfig_options::set_process_options()); }"
        source.write_text(f"{code.replace('#pragma once', '')}\n{main}\n")
        build(demo, source, tmp_path / "process")
        assert subprocess.run([tmp_path / "process"], check=False).returncode == 0


def flag_tables() -> BundleTables:
    """A bundle whose one option is a list of booleans, which is sent as one text."""
    tables = list_tables()
    option = tables.options[0]._replace(
        from_fact=NONE, default_value=2, default_origin=4, key=3, separator=6, max_length=9, item_kind=0
    )
    return counted(
        replace(
            tables,
            texts=("cpu.features", "p", "XnnpackBackend", "flags", "fact", "*", ";"),
            values=(
                ValueRow(1, 0, StoredKind.BOOLEAN, 0),
                ValueRow(0, 0, StoredKind.BOOLEAN, 0),
                ValueRow(1, 3, StoredKind.ARRAY, 1),
            ),
            items=(0, 0, 1, 0),
            options=(option,),
            named_profile=0,
        )
    )


def test_the_demo_chooses_on_the_device(tmp_path: Path) -> None:
    script = "import sys; sys.path.insert(0, sys.argv[1]); import demo; demo.main(demo.Path(sys.argv[2]))"
    command = [sys.executable, "-c", script, str(DEMO.parent), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    variants = [line for line in lines if line.startswith("program")]
    assert variants == ["program  digits_xnnpack.pte: XnnpackBackend is in runtime.backends"] * 2
    mains, battery = [line for line in lines if "XnnpackBackend.num_threads" in line]
    assert "(expr " in mains
    assert battery.endswith('= 1 from project etconfig.toml:9:1 (when power.source == "battery")')
    digits = [line.split()[-1] for line in lines if line.startswith("digit ")]
    assert digits == [lines[-1].split()[-1]] * 2
