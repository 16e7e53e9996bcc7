"""Every schema reaches the level in the README."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli
from statements import conformance_report, statement, words

from etconfig.conformance import Settings

pytestmark = pytest.mark.peers  # starts processes for a minute, and needs the package to be installed

PLUGIN = Path(__file__).parents[1]
MANIFEST = tomli.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))
BACKENDS = sorted(MANIFEST["project"]["entry-points"]["etconfig.backends"])


@pytest.mark.parametrize(
    "backend", [BACKENDS[0], *(pytest.param(each, marks=pytest.mark.weekly) for each in BACKENDS[1:])]
)
def test_each_schema_reaches_level_0(backend: str) -> None:
    report = conformance_report(Settings(backend=backend, level=0))
    expected = statement(f"Each of the {len(BACKENDS)} backends", report)
    assert f"{expected}, without an expected failure" in words(PLUGIN / "README.md")
