"""The reader that `etconfig schema BACKEND --emit cpp` writes, in ExecuTorch's own runtime.

README lists three mistakes that ExecuTorch accepts without an error: each is refused here, before XNNPACK is
loaded.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from compilers import compiled

from etconfig.app.installation.installation import Installation
from etconfig.device.typed import typed_code

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++"),
]

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "examples" / "phone_and_pi" / "digits.pte"
KEYS = "workspace_sharing_mode, weight_cache_enabled, packed_cache_path"


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Load the program with options, and return the lines that are printed."""
    directory = tmp_path_factory.mktemp("readers")
    (directory / "xnnpack.h").write_text(
        typed_code(Installation().plugins.backend_spec("XnnpackBackend"), "cpp", "etconfig")
    )
    program = directory / "checked.pte"
    program.write_bytes(PROGRAM.read_bytes().replace(b"XnnpackBackend", b"CheckedXnnpack"))
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    wheel = Path(spec.submodule_search_locations[0])
    libraries = [f"-lexecutorch{name}" for name in ("", "_backend_xnnpack", "_kernels_optimized")]
    command = (
        *("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-DC10_USING_CUSTOM_GENERATED_MACROS"),
        *("-DSPACE=etconfig_xnnpack_backend", '-DREADER="xnnpack.h"', f"-I{directory}"),
        *("-isystem", wheel / "include"),
        *("-isystem", wheel / "include" / "executorch" / "runtime" / "core" / "portable_type" / "c10"),
        *(HERE / "device" / "read_options.cpp", f"-L{wheel}/lib", "-Wl,--no-as-needed", *libraries),
        f"-Wl,-rpath,{wheel}/lib",
    )
    runner = compiled(command, directory / "run")

    def run(backend: str, *options: str) -> list[str]:
        done = subprocess.run(
            [runner, program, backend, *options], capture_output=True, text=True, check=False, cwd=directory
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    return run


class TestMistakesOfTheFrontPage:
    """A misspelled key, a value of the wrong type and a wrong id end the load with an error and a message."""

    def test_a_correct_option_reaches_xnnpack(self, load: Callable[..., list[str]]) -> None:
        found = load(
            "CheckedXnnpack", "weight_cache_enabled", "bool", "true", "packed_cache_path", "text", "p"
        )
        assert found[-3:] == ["weight_cache_enabled 1", "packed_cache_path p", "load 0x0"]
        assert load("CheckedXnnpack", "workspace_sharing_mode", "int", "2")[-1] == "load 0x0"

    def test_a_misspelled_key(self, load: Callable[..., list[str]]) -> None:
        assert load("CheckedXnnpack", "weight_cache_enable", "bool", "true")[-2:] == [
            f"init: weight_cache_enable: no such option of XnnpackBackend; there are {KEYS}",
            "load 0x12",
        ]

    def test_a_value_of_the_wrong_type(self, load: Callable[..., list[str]]) -> None:
        assert load("CheckedXnnpack", "weight_cache_enabled", "int", "1")[-2:] == [
            "init: weight_cache_enabled: expected true or false, given 1 (an integer)",
            "load 0x12",
        ]

    def test_a_wrong_id(self, load: Callable[..., list[str]]) -> None:
        (found,) = load("XNNPackBackend", "weight_cache_enabled", "bool", "true")
        assert found.startswith("map: XNNPackBackend: this runtime has no such backend; it has ")
        assert "CheckedXnnpack" in found


class TestOtherMistakes:
    """Every problem of a call is in its message."""

    def test_several_problems_are_reported_together(self, load: Callable[..., list[str]]) -> None:
        found = load(
            "CheckedXnnpack",
            *("workspace_sharing_mode", "int", "3", "packed_cache_path", "bool", "false"),
            *("weight_cache_enabled", "text", "yes\n", "weight_cache_enabled", "bool", "true"),
        )
        assert found[-2:] == [
            "init: workspace_sharing_mode: expected one of 0 (disabled), 1 (per_model), 2 (global), given 3 "
            "(an integer); weight_cache_enabled: given twice; weight_cache_enabled: expected true or false, "
            'given "yes?" (a text); packed_cache_path: expected a text, given false',
            "load 0x12",
        ]

    def test_keys_and_texts_without_an_end_are_bounded(self, load: Callable[..., list[str]]) -> None:
        found = load("CheckedXnnpack", "k" * 64, "text", "v" * 256)
        assert found[-2] == f"init: {'k' * 64}: no such option of XnnpackBackend; there are {KEYS}"
        found = load(
            "CheckedXnnpack", "packed_cache_path", "text", "v" * 256, "weight_cache_enabled", "int", "2"
        )
        assert found[-2] == "init: weight_cache_enabled: expected true or false, given 2 (an integer)"

    def test_options_of_a_method_are_refused_for_the_process(self, load: Callable[..., list[str]]) -> None:
        found = load("CheckedXnnpack", "workspace_sharing_mode", "int", "2")
        assert found[-2] == (
            "set_option: workspace_sharing_mode: of a method; pass it with the map when the method is loaded"
        )
