"""The plugins of this repository use promised names only, so any core that keeps the promise has them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from api_surface import parse
from write_api_surface import ROOT, SurfaceFiles

import etconfig.aot
from etconfig.plugin.api_version import OLDEST

PROMISED = parse(SurfaceFiles(ROOT).frozen.read_text(encoding="utf-8"))
AHEAD_OF_TIME = "etconfig.aot"
"""The room for ahead-of-time halves: its public names grow and stay, as those of the API do."""
DOORS = {"etconfig.plugin.v1", "etconfig.plugin.v1_c", "etconfig.plugin.v1_kernels"}
PACKAGES = [
    path
    for place in (ROOT / "plugins", ROOT / "tests" / "data" / "plugins-api1" / "sources")
    for path in sorted(place.iterdir())
    if (path / "pyproject.toml").exists()
]


def modules(package: Path) -> list[Path]:
    """The modules in the wheel, without tests and tools beside them."""
    packages = (each.parent for each in package.glob("*/__init__.py"))
    return sorted([*package.glob("*.py"), *(path for each in packages for path in each.rglob("*.py"))])


def used_names(path: Path) -> Iterator[str]:
    """The dotted names of etconfig that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "etconfig":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.partition(".")[0] == "etconfig")


def unpromised(names: set[str]) -> set[str]:
    """The names that no promise covers; a public module, and everything in it, may be imported too."""
    covered = {*PROMISED, *DOORS, *(f"{door}.*" for door in DOORS)}
    covered |= {f"{AHEAD_OF_TIME}.{name}" for name in etconfig.aot.__all__}
    return names - covered


class TestPromise:
    """A plugin imports names in v1-frozen.txt, and nothing else of etconfig."""

    @pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
    def test_a_plugin_imports_promised_names_only(self, package):
        used = {path.name: unpromised(set(used_names(path))) for path in modules(package)}
        assert used, "the package holds no module"
        assert {name: names for name, names in used.items() if names} == {}

    def test_a_name_that_is_not_promised_is_noticed(self):
        names = {
            "etconfig.app.programs.api.load_program",
            "etconfig.plugin.v1.Backend",
            "etconfig.plugin.v1.Stream",
        }
        assert unpromised(names) == {"etconfig.app.programs.api.load_program", "etconfig.plugin.v1.Stream"}

    def test_the_promise_belongs_to_the_oldest_version_that_is_understood(self):
        assert {f"etconfig.plugin.v{OLDEST}"} == {
            path for path in DOORS if not path.endswith(("_c", "_kernels"))
        }
