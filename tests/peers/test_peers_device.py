"""`device_executorch.h`: the options of a bundle in ExecuTorch's own runtime."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import etconfig
from etconfig.device import device_include_dir

COMPILER = shutil.which("g++")
pytestmark = [pytest.mark.peers, pytest.mark.skipif(COMPILER is None, reason="there is no g++")]

HERE = Path(__file__).parent
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
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built against the executorch that is installed."""
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations
    wheel = Path(spec.submodule_search_locations[0])
    include, target = wheel / "include", tmp_path_factory.mktemp("device") / "run"
    command = [
        *(str(COMPILER), "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{device_include_dir()}"),
        *("-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_EVENT_TRACER_ENABLED", "-DET_USE_THREADPOOL"),
        *("-isystem", str(include), "-isystem", str(include / "executorch/runtime/core/portable_type/c10")),
        *(str(HERE / "device" / "run_on_device.cpp"), "-o", str(target)),
        *(f"-L{wheel / 'lib'}", f"-Wl,-rpath,{wheel / 'lib'}", "-Wl,--no-as-needed"),
        *("-lexecutorch", "-lexecutorch_kernels_optimized"),
        *("-lexecutorch_backend_xnnpack", "-lexecutorch_threadpool"),
    ]
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
