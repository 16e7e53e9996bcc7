"""Comparison of the statement on conformance in a plugin's README with a run of the kit."""

from __future__ import annotations

from pathlib import Path

from etconfig.conformance import Report, Settings, run_conformance
from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.runner.xfails import read_xfails


def conformance_report(settings: Settings, xfails: Path | None = None) -> Report:
    """Run the kit, and require that it reaches its level with exactly the expected failures of the file."""
    expected = {} if xfails is None else read_xfails(xfails, [check.id for check in all_checks()])
    report = run_conformance(settings, expected)
    assert report.passed, [each for each in report.results if not each.outcome.is_good]
    return report


def statement(what: str, report: Report) -> str:
    """Return the beginning of the sentence that the README must contain."""
    return f"{what} reaches level {report.level} of the conformance kit {report.pinned_kit}"


def words(readme: Path) -> str:
    """Return the text with its line breaks replaced by spaces."""
    return " ".join(readme.read_text(encoding="utf-8").split())
