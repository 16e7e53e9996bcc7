"""A report as JUnit XML for CI, as a page, and as an SVG badge to show in a README."""

from __future__ import annotations

from html import escape

from etconfig.conformance.checks.check import Check
from etconfig.conformance.kit.outcomes import Outcome, Result
from etconfig.conformance.runner.kit_report import Report
from etconfig.report.junit import JunitCase, JunitOutcome, junit_xml
from etconfig.report.model import Table, View

_SKIPPED = {Outcome.UNDECLARED, Outcome.NOT_APPLICABLE, Outcome.XFAILED, Outcome.NOT_JUDGED}
MARKS = {each.value: "off" if each in _SKIPPED else "error" for each in Outcome if each is not Outcome.PASSED}
"""How pages mark outcomes."""

LABEL = "etconfig"

_COLORS = {None: "#c62828", 0: "#ef6c00", 1: "#f9a825", 2: "#7cb342", 3: "#2e7d32"}
"""By level, from red to green."""

_CHARACTER_WIDTH = 6.6
_PADDING = 12.0


def report_junit(report: Report) -> bytes:
    """Return one test suite with a case for each check, root causes first.

    Outcomes other than pass and failure are skips, also of checks that rest on a failed one.
    """
    properties = {name: getattr(report, name) for name in ("distribution", "version", "executor", "summary")}
    properties["not_judged"] = str(report.counts[Outcome.NOT_JUDGED])
    cases = [_case(report.checks[each.check_id], each) for each in _ordered(report)]
    return junit_xml(f"etconfig conformance {report.backend}", cases, properties)


def report_view(report: Report) -> View:
    """Return the results of all checks, root causes first, for a page."""
    rows = [
        (
            each.outcome.value,
            f"L{report.checks[each.check_id].level}",
            each.check_id,
            report.checks[each.check_id].doc,
            _reason(each),
        )
        for each in _ordered(report)
    ]
    lines = [f"{report.distribution} {report.version}, executor {report.executor}: {report.summary}"]
    headers = ("outcome", "level", "check", "what it checks", "reason")
    return View(
        title=f"Conformance of {report.backend}", lines=lines, tables=(Table(headers=headers, rows=rows),)
    )


def _ordered(report: Report) -> list[Result]:
    roots = report.root_causes
    return sorted(report.results, key=lambda result: result.check_id not in roots)


def _case(check: Check, result: Result) -> JunitCase:
    return JunitCase(
        name=check.id,
        group=f"etconfig.conformance.L{check.level}",
        outcome=_outcome(result),
        message="" if result.outcome is Outcome.PASSED else f"{result.outcome.value}: {_reason(result)}",
        seconds=result.seconds,
    )


def _reason(result: Result) -> str:
    return ": ".join(filter(None, (result.reason, result.message)))


def _outcome(result: Result) -> JunitOutcome:
    if result.outcome is Outcome.PASSED:
        return "passed"
    if result.is_advisory or result.outcome in _SKIPPED:
        return "skipped"
    return "error" if result.outcome.is_loss else "failure"


def badge_svg(report: Report) -> str:
    """Return the summary of a report as a badge: a label, then the level and what qualifies it."""
    left, right = _width(LABEL), _width(report.summary)
    title = escape(f"{report.backend}: {report.summary}")
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:g}" height="20" role="img" aria-label="{title}">
  <title>{title}</title>
  <rect width="{left + right:g}" height="20" rx="3" fill="#424242"/>
  <rect x="{left:g}" width="{right:g}" height="20" rx="3" fill="{_COLORS[report.level]}"/>
  <rect x="{left:g}" width="4" height="20" fill="{_COLORS[report.level]}"/>
  <g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="{left / 2:g}" y="14">{escape(LABEL)}</text>
    <text x="{left + right / 2:g}" y="14">{escape(report.summary)}</text>
  </g>
</svg>
"""


def _width(text: str) -> float:
    return round(len(text) * _CHARACTER_WIDTH + _PADDING, 1)
