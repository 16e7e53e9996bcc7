"""The options in force on the real runtime: read back from the library, observed, or assumed for a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

pytestmark = pytest.mark.peers

Effective: TypeAlias = Callable[..., dict[str, tuple[object, ...]]]

PROGRAMS = Path(__file__).parents[3] / "tests" / "data" / "programs"

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
            "workspace_sharing_mode": ("global", "read back", "XNNPACK's default for the process"),
            "weight_cache_enabled": (False, "read back", "XNNPACK's default for the process"),
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
        assert values["workspace_sharing_mode"][:2] == ("per_model", "read back")
        assert values["weight_cache_enabled"][:2] == (True, "read back")

    def test_options_of_the_method_are_assumed(self, effective: Effective, tmp_path: Path) -> None:
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
            "packed_cache_path": (path, "assumed", reason),
            "single_threaded": (True, "assumed", "etconfig loaded the method without the thread pool"),
            "num_threads": (1, "assumed", "etconfig loaded the method without the thread pool"),
        }
        assert Path(path).exists()


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
