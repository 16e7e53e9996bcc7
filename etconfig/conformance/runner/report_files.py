"""A report as JUnit XML for CI, and as an SVG badge to show in a README."""

from __future__ import annotations

from html import escape
from xml.etree import ElementTree  # it only writes here

from etconfig.conformance.checks.check import Check
from etconfig.conformance.kit.outcomes import Outcome, Result
from etconfig.conformance.runner.report import Report

_SKIPPED = {Outcome.UNDECLARED, Outcome.NOT_APPLICABLE, Outcome.XFAILED, Outcome.NOT_JUDGED}
_KINDS = ("failure", "error", "skipped")

LABEL = "etconfig"

_COLORS = {None: "#c62828", 0: "#ef6c00", 1: "#f9a825", 2: "#7cb342", 3: "#2e7d32"}
"""By level, from red to green."""

_CHARACTER_WIDTH = 6.6
_PADDING = 12.0


def junit_xml(report: Report) -> bytes:
    """Return one test suite with a case for each check, root causes first.

    Outcomes other than pass and failure are skips, also of checks that rest on a failed one.
    """
    checks, roots = report.checks, report.root_causes
    ordered = sorted(report.results, key=lambda result: result.check_id not in roots)
    cases = [_case(checks[result.check_id], result) for result in ordered]
    counts = {kind: sum(case.find(kind) is not None for case in cases) for kind in _KINDS}
    suite = ElementTree.Element(
        "testsuite",
        name=f"etconfig conformance {report.backend}",
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
        time=f"{sum(result.seconds for result in report.results):.3f}",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name in ("distribution", "version", "executor", "summary"):
        ElementTree.SubElement(properties, "property", name=name, value=getattr(report, name))
    not_judged = str(report.counts[Outcome.NOT_JUDGED])
    ElementTree.SubElement(properties, "property", name="not_judged", value=not_judged)
    suite.extend(cases)
    ElementTree.indent(suite)
    content: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _case(check: Check, result: Result) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        classname=f"etconfig.conformance.L{check.level}",
        name=check.id,
        time=f"{result.seconds:.3f}",
    )
    kind = _kind(result)
    if kind is not None:
        parts = (result.outcome.value, result.reason, result.message)
        ElementTree.SubElement(case, kind, message=_printable(": ".join(filter(None, parts))))
    return case


def _kind(result: Result) -> str | None:
    if result.outcome is Outcome.PASSED:
        return None
    if result.is_advisory or result.outcome in _SKIPPED:
        return "skipped"
    return "error" if result.outcome.is_loss else "failure"


def _printable(text: str) -> str:
    """Replace the characters that XML 1.0 does not allow."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


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
