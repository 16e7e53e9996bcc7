"""The schema reaches the level in its README if no other package declares the id."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli
from plugin_data import write_distribution
from statements import conformance_report, statement, words

from etconfig.conformance import Settings

pytestmark = pytest.mark.peers  # starts processes for some seconds

PLUGIN = Path(__file__).parents[1]


def test_the_schema_reaches_level_0(tmp_path: Path) -> None:
    project = tomli.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))["project"]
    lines = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    directory = f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    write_distribution(
        tmp_path, directory, lines, f"Name: {project['name']}\nVersion: {project['version']}\n"
    )
    settings = Settings(backend="VulkanBackend", level=0, search_path=(str(tmp_path),))
    expected = statement("`VulkanBackend`", conformance_report(settings))
    assert f"{expected}, without an expected failure" in words(PLUGIN / "README.md")
