"""XNNPACK on the real runtime reaches the level in the README; its golden programs are reproducible."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from statements import conformance_report, statement, words

from etconfig.base.written_files import FilesOfRun
from etconfig.conformance import Outcome, Settings
from etconfig.conformance.subject.lowering import lower_cases
from etconfig.conformance.subject.subject import Subject

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

PLUGIN = Path(__file__).parents[1]
GOLDEN = PLUGIN / "etconfig_executorch" / "golden"
XFAILS = Path(__file__).with_name("xfails.txt")
SETTINGS = Settings(backend="XnnpackBackend", executor="executorch")


def test_xnnpack_reaches_the_level_and_has_the_expected_failures_that_the_readme_names() -> None:
    report = conformance_report(SETTINGS, XFAILS)
    readme = words(PLUGIN / "README.md")
    assert statement("`XnnpackBackend`", report) in readme
    said = readme.partition("expected failure:")[2].partition("Its capabilities")[0]
    failed = [each.check_id for each in report.results if each.outcome is Outcome.XFAILED]
    assert re.findall(r"- `(.*?)`: ", said) == failed


@pytest.mark.weekly
def test_lowering_again_gives_the_golden_programs(tmp_path: Path) -> None:
    written = lower_cases(Subject(SETTINGS), tmp_path, FilesOfRun())
    golden = {path.stem: path.read_bytes() for path in (GOLDEN / SETTINGS.backend).iterdir()}
    assert {name: (tmp_path / f"{name}.pte").read_bytes() for name in written} == golden
