"""Write the files in which the plugins of this repository declare their facts and backends.

    python tools/write_declarations.py

A test compares them with the plugins.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from etconfig.plugin.declarations import declaration_text
from etconfig.plugin.entry_points import BACKENDS, DECLARED, FACTS, parse_entry_points
from etconfig.plugin.hookspecs import BackendRequest, FactsRequest

PLUGINS = Path(__file__).parents[1] / "plugins"


def declared_files() -> dict[Path, str]:
    """Return the text of each file that a plugin declares."""
    return {path: text for package in sorted(PLUGINS.iterdir()) for path, text in _of_package(package)}


def _of_package(package: Path) -> list[tuple[Path, str]]:
    values = entry_points_of(package)
    files = [value for (group, _), value in values.items() if group == DECLARED]
    if not files:
        return []
    sys.path.insert(0, str(package))
    try:
        facts = {
            name: importlib.import_module(module).etconfig_facts(FactsRequest(name=name, core_api=1)).facts
            for (group, name), module in values.items()
            if group == FACTS
        }
        specs = {
            name: importlib.import_module(module).etconfig_backend(BackendRequest(name=name, core_api=1))
            for (group, name), module in values.items()
            if group == BACKENDS
        }
    finally:
        sys.path.remove(str(package))
    directory, _, name = files[0].partition(":")
    implemented = {backend: spec.has_implementation for backend, spec in specs.items()}
    return [(package / directory / name, declaration_text(facts, implemented))]


def entry_points_of(package: Path) -> dict[tuple[str, str], str]:
    """Return the entry points of a pyproject.toml, whose tables have the form of entry_points.txt."""
    groups, lines = "", []
    for line in (package / "pyproject.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            groups = line.removeprefix('[project.entry-points."').removesuffix('"]')
            lines.append(f"[{groups}]")
        elif groups.startswith("etconfig."):
            lines.append(line.replace('"', ""))
    return parse_entry_points("\n".join(lines))[0]


if __name__ == "__main__":
    for path, text in declared_files().items():
        path.write_text(text, encoding="utf-8")
