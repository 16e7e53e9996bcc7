"""Intervals as a picture: Vega-Lite draws it, through vl-convert, without a browser or a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from etconfig.base.paired_ratio import PairedRatio
from etconfig.measuring.comparison_report import ComparisonReport
from etconfig.report.page.page_writer import check_extra

MARK = "<!-- measurements, drawn by etconfig -->"
"""The first line of each picture."""

_COLORS = {"faster": "#3f8f8b", "slower": "#e45756", "same": "#888888"}
_WIDTH = 480


Interval: TypeAlias = "tuple[str, PairedRatio, str]"
"""A configuration, its ratio to what is configured, and the verdict: `faster`, `slower` or `same`."""


def check_can_draw() -> None:
    """Check that the library is installed, before anything is measured. Raises MissingPackageError."""
    check_extra("vl_convert", "vl-convert-python", "a picture of measurements")


def comparison_svg(report: ComparisonReport) -> str:
    """Draw the ratios and intervals of a report as an SVG document, without scripts.

    Raises:
        MissingPackageError: the library is not installed.
    """
    title = {"text": report.title, "subtitle": report.noise_text, "anchor": "start"}
    rows = [(row.label, row.ratio, report.verdict(row) or "") for row in report.rows if row.ratio is not None]
    return f"{MARK}\n{draw_intervals(rows, title, report.noise)}\n"


def draw_intervals(rows: Sequence[Interval], title: object = None, noise: PairedRatio | None = None) -> str:
    """Draw ratios and their intervals as an SVG document, without scripts.

    Raises:
        MissingPackageError: the library is not installed.
    """
    check_can_draw()
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(vega_lite(rows, title, noise))
    return svg


def vega_lite(rows: Sequence[Interval], title: object, noise: PairedRatio | None) -> dict[str, Any]:
    """Return the picture as a specification of Vega-Lite."""
    values = [{"label": label, "verdict": verdict, **each.to_jsonable()} for label, each, verdict in rows]
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
