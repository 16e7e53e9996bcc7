"""Workflows of GitHub: every suite of the Makefile that needs its own environment runs in one of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITES = ["test-engines", "test-fleet", "test-ray"]


@pytest.mark.parametrize("suite", SUITES)
def test_a_workflow_runs_the_suite(suite: str) -> None:
    assert re.search(rf"^{suite}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    workflows = [path.read_text("utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")]
    assert any(re.search(rf"\bmake {suite}$", text, re.MULTILINE) for text in workflows)
