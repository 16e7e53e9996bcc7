"""`device_executorch.h`: the options of a bundle in ExecuTorch's own runtime."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import etconfig

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


@pytest.fixture(scope="module")
def runner(demo: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of these tests."""
    target: Path = tmp_path_factory.mktemp("device") / "run"
    command = demo.compile_command(HERE / "device" / "run_on_device.cpp", target)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


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
