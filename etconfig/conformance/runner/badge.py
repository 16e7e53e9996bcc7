"""A report as an SVG badge, to show in a README."""

from __future__ import annotations

from html import escape

from etconfig.conformance.runner.report import Report

LABEL = "etconfig"

_COLORS = {None: "#c62828", 0: "#ef6c00", 1: "#f9a825", 2: "#7cb342", 3: "#2e7d32"}
"""By level, from red to green."""

_CHARACTER_WIDTH = 6.6
_PADDING = 12.0


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
