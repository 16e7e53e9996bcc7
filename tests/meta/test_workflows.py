"""Workflows of GitHub: every suite of the Makefile that needs its own environment runs in one of them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
CI = (ROOT / ".ci" / "run").read_text("utf-8")
WEEKLY = (ROOT / ".github" / "workflows" / "weekly.yml").read_text("utf-8")
RULES = dict(re.findall(r"^([\w-]+):(.*\n(?:\t.*\n)*)", MAKEFILE, re.MULTILINE))
"""What follows each target of the Makefile: what it needs and its commands."""

PARTS = re.findall(r"weekly-[\w-]+", RULES["weekly"])


def test_every_part_of_weekly_is_a_job_of_the_workflow() -> None:
    (parts,) = re.findall(r"^ +part: \[(.*)\]$", WEEKLY, re.MULTILINE)
    assert parts.split(", ") == PARTS
    assert set(PARTS) <= set(RULES)


def test_every_suite_runs_for_each_change_or_each_week() -> None:
    suites = {name for name in RULES if name.startswith("test")}
    weekly = " ".join(RULES[name] for name in PARTS)
    run = {name for name in suites if re.search(rf"\b(?:make |MAKE\) ){name}\b(?!-)", CI + weekly)}
    run |= {name for name in suites if name in weekly.split()}
    assert suites - run == {"test-quick"}, "all its tests are in make test"
