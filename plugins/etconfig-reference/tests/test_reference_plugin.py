from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import etconfig_reference
import pluggy
import pytest
from etconfig_reference import plugin
from etconfig_reference.options import MIN_SCRATCH_BYTES, Accumulate, ReferenceCpuOptions

from etconfig.base.provenance import Sourced
from etconfig.plugin.v1 import BackendRequest
from etconfig.resolver.deciding.unconfigured import values_without_configuration

PACKAGE = Path(etconfig_reference.__file__).parent
README = Path(__file__).parents[1] / "README.md"
AHEAD_OF_TIME = {"aot.py", "lowering.py"}


def loaded_by(statement: str) -> set[str]:
    """Return the top-level packages that a fresh interpreter has loaded after `statement`."""
    code = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


class TestImports:
    """The runtime half needs the plugin API and numpy, and never torch or executorch."""

    def test_the_specs_are_known_without_numpy(self) -> None:
        assert not {"numpy", "torch", "executorch"} & loaded_by("import etconfig_reference.plugin")

    def test_the_backends_are_made_without_torch(self) -> None:
        loaded = loaded_by("import etconfig_reference.cpu, etconfig_reference.npu")
        assert "numpy" in loaded
        assert not {"torch", "executorch"} & loaded

    def test_only_the_doors_for_plugins_are_imported_from_etconfig(self) -> None:
        for path in PACKAGE.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                modules = [node.module] if isinstance(node, ast.ImportFrom) else []
                modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                for module in modules:
                    root = str(module).partition(".")[0]
                    door = "etconfig.aot" if path.name in AHEAD_OF_TIME else "etconfig.plugin.v1"
                    assert root != "etconfig" or module in (door, "etconfig.plugin.v1"), path
                    assert root not in ("torch", "executorch") or path.name in AHEAD_OF_TIME, path


class TestSpecs:
    """Each backend is declared under its id, and created by its factory."""

    @pytest.mark.parametrize("backend_id", ["ReferenceCpuBackend", "ReferenceNpuBackend"])
    def test_the_hook_answers_with_the_spec_that_was_asked_for(self, backend_id: str) -> None:
        manager = pluggy.PluginManager("etconfig")
        manager.register(plugin)
        request = BackendRequest(name=backend_id, core_api=1)
        (spec,) = manager.hook.etconfig_backend(request=request)
        assert spec.id == backend_id
        assert spec.factory is not None
        assert type(spec.factory()).__name__ == backend_id

    def test_the_defaults_are_those_of_the_reference(self) -> None:
        defaults = {name: spec.options().to_jsonable() for name, spec in plugin.SPECS.items()}
        assert defaults == {
            "ReferenceCpuBackend": {"num_threads": 1, "scratch_bytes": 1 << 20, "accumulate": "fp32"},
            "ReferenceNpuBackend": {
                "core": 0,
                "power_mode": "balanced",
                "precision": "fp32",
                "fault": "none",
            },
        }

    def test_what_can_change_on_a_loaded_method(self) -> None:
        updatable = {
            f"{spec.id}.{name}"
            for spec in plugin.SPECS.values()
            for name, info in spec.options.option_infos().items()
            if info.applies.value == "execute"
        }
        assert updatable == {
            "ReferenceCpuBackend.num_threads",
            "ReferenceNpuBackend.power_mode",
            "ReferenceNpuBackend.fault",
        }


class TestConstraints:
    """A tile has room for at least 1024 numbers of the type of sums."""

    def test_fp64_sums_need_a_larger_tile(self) -> None:
        assert ReferenceCpuOptions(scratch_bytes=8192, accumulate=Accumulate.FP64).scratch_bytes == 8192
        with pytest.raises(
            ValueError, match="scratch_bytes must be at least 8192 when accumulate is fp64, not 4096"
        ):
            ReferenceCpuOptions(scratch_bytes=4096, accumulate=Accumulate.FP64)

    def test_fp32_sums_do_not(self) -> None:
        assert ReferenceCpuOptions(scratch_bytes=4096).scratch_bytes == 4096


class TestRecommendation:
    """A tile is half of the level 2 cache, if its size is known."""

    @pytest.mark.parametrize(
        ("facts", "expected"),
        [
            ({"cpu.cache.l2": 512 * 1024}, 256 * 1024),
            ({"cpu.cache.l2": 100}, MIN_SCRATCH_BYTES),
            ({}, 1024 * 1024),
        ],
    )
    def test_scratch_bytes_follows_the_cache(self, facts: dict[str, object], expected: int) -> None:
        found = values_without_configuration(plugin.SPECS["ReferenceCpuBackend"], facts)["scratch_bytes"]
        assert isinstance(found, Sourced)
        assert found.value == expected
