"""Intervals as a picture: Vega-Lite draws it, through vl-convert, without a browser or a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from etconfig.base.packages import how_to_install
from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record
from etconfig.errors import MissingPackageError
from etconfig.measuring.report import ComparisonReport

MARK = "<!-- measurements, drawn by etconfig -->"
"""The first line of each picture."""

_COLORS = {"faster": "#3f8f8b", "slower": "#e45756", "same": "#888888"}
_WIDTH = 480


@record(frozen=True, kw_only=True)
class PlottedRow:
    """A configuration, measured against what is configured.

    Attributes:
        label: Its name.
        verdict: `faster`, `slower` or `same`, or why it was not measured.
        ratio: Its time divided by the time of what is configured; None if it was not measured.
        low: The lower end of the interval; 0 if it is unknown.
        high: The upper end; the ratio if it is unknown.
    """

    label: str
    verdict: str
    ratio: float | None = None
    low: float = 0.0
    high: float | None = None

    def cells(self) -> tuple[str, ...]:
        """The row of a table: label, ratio, interval, verdict."""
        if self.ratio is None:
            return self.label, "", "", self.verdict
        interval = "unknown" if self.high is None else f"{self.low:.3f} to {self.high:.3f}"
        return self.label, f"{self.ratio:.3f}", interval, self.verdict


def check_can_draw() -> None:
    """Check that the library is installed, before anything is measured.

    Raises:
        MissingPackageError: it is not; the error says how to install it.
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingPackageError(
            purpose="a picture of measurements",
            package="vl-convert-python",
            help=how_to_install("'etconfig[report]'"),
        ) from error


def comparison_svg(report: ComparisonReport) -> str:
    """Draw the ratios and intervals of a report as an SVG document, without scripts.

    Raises:
        MissingPackageError: the library is not installed.
    """
    title = {"text": report.title, "subtitle": report.noise_text, "anchor": "start"}
    rows = [
        PlottedRow(
            label=row.label,
            verdict=report.verdict(row) or "",
            ratio=row.ratio.ratio,
            low=row.ratio.low,
            high=row.ratio.high,
        )
        for row in report.rows
        if row.ratio is not None
    ]
    return f"{MARK}\n{draw_intervals(rows, title, report.noise)}\n"


def draw_intervals(rows: Sequence[PlottedRow], title: object = None, noise: PairedRatio | None = None) -> str:
    """Draw ratios and their intervals as an SVG document, without scripts.

    Raises:
        MissingPackageError: the library is not installed.
    """
    check_can_draw()
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(vega_lite(rows, title, noise))
    return svg


def vega_lite(rows: Sequence[PlottedRow], title: object, noise: PairedRatio | None) -> dict[str, Any]:
    """Return the picture as a specification of Vega-Lite."""
    values = [
        {
            "label": row.label,
            "ratio": row.ratio,
            "low": row.low,
            "high": row.high or row.ratio,
            "verdict": row.verdict,
        }
        for row in rows
    ]
    y = {"field": "label", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 400}}
    x = {"type": "quantitative", "scale": {"zero": False}, "title": "time, as a share of the incumbent's"}
    color = {
        "field": "verdict",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(_COLORS), "range": list(_COLORS.values())},
    }
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "y": y, "color": color},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"x": {"field": "ratio", **x}, "y": y, "color": color},
        },
        {"mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"x": {"datum": 1}}},
    ]
    if noise is not None:
        band = {"x": {"datum": noise.low, **x}, "x2": {"datum": noise.high}}
        layers.insert(0, {"mark": {"type": "rect", "color": "#eeeeee"}, "encoding": band})
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": title,
        "width": _WIDTH,
        "padding": 16,
        "height": {"step": 22},
        "data": {"values": values},
        "layer": layers,
    }
