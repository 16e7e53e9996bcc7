"""The options in force on the real runtime: read back, observed, or assumed for a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from in_force import check_names, table_of

pytestmark = pytest.mark.peers

Effective: TypeAlias = Callable[..., dict[str, tuple[object, ...]]]

PROGRAMS = Path(__file__).parents[3] / "tests" / "data" / "programs"

DEFAULT = "XNNPACK's default for the process when the method was loaded"

EFFECTIVE = """
import json, sys
import etconfig
from etconfig_executorch.native import native
for key, value in json.loads(sys.argv[3]).items():
    native.set_process_options("XnnpackBackend", [(key, value)])
program = etconfig.load_program(sys.argv[1], executor="executorch")
config = etconfig.resolve(program, overrides=json.loads(sys.argv[2]))
method = program.load_method("forward", config.arguments("forward"))
values = method.effective_values()["XnnpackBackend"]
plain = {name: each.value for name, each in values.items()}
assert plain == method.effective_options()["XnnpackBackend"]
print(json.dumps({name: [each.value, each.source.value, each.reason] for name, each in values.items()}))
"""


@pytest.fixture
def effective(in_process: Callable[..., str]) -> Effective:
    """Return the options of a method that was loaded with options, in a process with defaults of its own."""

    def load(*overrides: str, **defaults: object) -> dict[str, tuple[object, ...]]:
        lines = in_process(EFFECTIVE, PROGRAMS / "xnnpack.pte", json.dumps(overrides), json.dumps(defaults))
        return {name: tuple(each) for name, each in json.loads(lines.splitlines()[-1]).items()}

    return load


class TestXnnpack:
    """Every option has a value, a mark and a reason."""

    def test_without_options_the_library_is_asked_for_its_defaults(self, effective: Effective) -> None:
        values = effective("XnnpackBackend.num_threads=2")
        assert values == {
            "workspace_sharing_mode": ("global", "assumed", DEFAULT),
            "weight_cache_enabled": (False, "assumed", DEFAULT),
            "packed_cache_path": (
                None,
                "assumed",
                "XNNPACK takes a path only from the options of a method, and none was passed",
            ),
            "single_threaded": (
                False,
                "assumed",
                "etconfig loaded the method with a thread pool",
            ),
            "num_threads": (2, "read back", "the thread pool of this size reports its size"),
        }

    def test_defaults_that_other_code_has_set_are_found(self, effective: Effective) -> None:
        values = effective(workspace_sharing_mode=1, weight_cache_enabled=True)
        assert values["workspace_sharing_mode"][:2] == ("per_model", "assumed")
        assert values["weight_cache_enabled"][:2] == (True, "assumed")

    def test_options_of_the_method_are_assumed_but_for_the_file(
        self, effective: Effective, tmp_path: Path
    ) -> None:
        path = str(tmp_path / "packed.bin")
        values = effective(
            "XnnpackBackend.workspace_sharing_mode=disabled",
            "XnnpackBackend.weight_cache_enabled=true",
            f"XnnpackBackend.packed_cache_path={path}",
            "XnnpackBackend.single_threaded=true",
            workspace_sharing_mode=1,  # the default of the process, which the method overrides
        )
        reason = "passed to XNNPACK when the method was loaded; it reports only the default of the process"
        assert values == {
            "workspace_sharing_mode": ("disabled", "assumed", reason),
            "weight_cache_enabled": (True, "assumed", reason),
            "packed_cache_path": (path, "observed", "the process maps the file"),
            "single_threaded": (True, "assumed", "etconfig loaded the method without the thread pool"),
            "num_threads": (1, "assumed", "etconfig loaded the method without the thread pool"),
        }
        assert Path(path).exists()


EFFECTS = """
import json, os, sys
import numpy as np
import etconfig
from etconfig_executorch import executor
from etconfig_executorch.native import native
executor.check_packed_cache = lambda options: None  # what it refuses shows what XNNPACK would do
program = etconfig.load_program(sys.argv[1], executor="executorch")
facts = etconfig.detect_facts()  # once: a slow detector may go on in a thread
def load(*overrides):
    before = len(os.listdir("/proc/self/task"))
    overrides = [f"XnnpackBackend.{each}" for each in overrides]
    config = etconfig.resolve(program, facts=facts, overrides=overrides)
    method = program.load_method("forward", config.arguments("forward"))
    method.execute([np.ones(tensor.sizes(), np.float32) for tensor in tensors(method)])
    found = method.effective_values()["XnnpackBackend"].items()
    values = {name: [each.value, each.source.value] for name, each in found}
    return len(os.listdir("/proc/self/task")) - before, values, method
def tensors(method):
    return [method.metadata.input_tensor_meta(index) for index in range(method.metadata.num_inputs())]
load()  # kernels use the pool of the process
seen = {}
for count in (3, 5):
    added, values, _ = load(f"num_threads={count}")
    seen[f"num_threads={count}"] = [added, *values["num_threads"]]
added, values, method = load("single_threaded=true")
seen["single_threaded"] = [added, *values["single_threaded"], *values["num_threads"]]
native.set_process_options("XnnpackBackend", [("weight_cache_enabled", True)])  # not of that method
later = method.effective_values()["XnnpackBackend"]["weight_cache_enabled"]
seen["weight_cache_enabled"] = [later.value, later.source.value]
for path in sys.argv[2:]:
    _, values, _ = load("weight_cache_enabled=true", f"packed_cache_path={path}")
    is_mapped = path in open("/proc/self/maps").read()
    seen[path] = [is_mapped, *values["packed_cache_path"]]
print(json.dumps(seen))
"""


def test_effects_are_those_of_the_values_in_force(in_process: Callable[..., str], tmp_path: Path) -> None:
    """XNNPACK packs into memory where its file is a directory or a device."""
    cache, directory = str(tmp_path / "packed.bin"), str(tmp_path / "directory")
    Path(directory).mkdir()
    shown = in_process(EFFECTS, PROGRAMS / "xnnpack.pte", directory, "/dev/null", cache).splitlines()[-1]
    assert json.loads(shown) == {
        "num_threads=3": [2, 3, "read back"],
        "num_threads=5": [4, 5, "read back"],
        "single_threaded": [0, True, "assumed", 1, "assumed"],
        "weight_cache_enabled": [False, "assumed"],
        directory: [False, None, "observed"],
        "/dev/null": [False, None, "observed"],
        cache: [True, cache, "observed"],
    }


def test_the_readme_names_every_option(effective: Effective) -> None:
    """Tests of options measure the memory that sharing saves."""
    table = table_of(Path(__file__).parents[1] / "README.md")
    values = effective("XnnpackBackend.num_threads=2")
    check_names(table, values, values)
    assert all(values[name][1] in row.sources for name, row in table.items())


def test_the_options_of_a_python_backend_are_read_back(in_process: Callable[..., str]) -> None:
    code = """
import sys
import etconfig
method = etconfig.load_program(sys.argv[1], executor="executorch").load_method("forward")
option = method.effective_values()["ReferenceNpuBackend"]["power_mode"]
print(option.value.value, option.source.value, option.reason)
"""
    shown = in_process(code, PROGRAMS.parent / "digits" / "digits.pte").splitlines()[-1]
    assert shown == "balanced read back the backend reports it"
