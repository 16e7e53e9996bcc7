"""A report as a picture: Vega-Lite draws it, through vl-convert, without a browser or a connection."""

from __future__ import annotations

from typing import Any

from etconfig.base.packages import how_to_install
from etconfig.measuring.report import ComparisonReport

MARK = "<!-- measurements, drawn by etconfig -->"
"""The first line of each picture."""

_COLORS = {"faster": "#3f8f8b", "slower": "#e45756", "same": "#888888"}
_WIDTH = 480


def check_can_draw() -> None:
    """Check that the library is installed, before anything is measured.

    Raises:
        ImportError: it is not; the error says how to install it.
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        install = how_to_install("'etconfig[report]'")
        raise ImportError(f"a picture needs vl-convert-python, which is not installed: {install}") from error


def comparison_svg(report: ComparisonReport) -> str:
    """Draw the ratios and intervals of a report as an SVG document, without scripts.

    Raises:
        ImportError: the library is not installed.
    """
    check_can_draw()
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(vega_lite(report))
    return f"{MARK}\n{svg}\n"


def comparison_html(report: ComparisonReport) -> str:
    """Return a page with the picture and the table of a report, without scripts.

    Raises:
        ImportError: the library is not installed.
    """
    style = "body{font:14px sans-serif;margin:2em}td,th{padding:.2em .8em .2em 0}svg{margin:1em 0}"
    return (
        f'{MARK}\n<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>etconfig bench</title>'
        f"<style>{style}</style></head>\n<body>\n{comparison_svg(report).removeprefix(MARK)}"
        f"{report._repr_html_()}\n</body></html>\n"
    )


def vega_lite(report: ComparisonReport) -> dict[str, Any]:
    """Return the picture as a specification of Vega-Lite."""
    values = [
        {
            "label": row.label,
            "ratio": row.ratio.ratio,
            "low": row.ratio.low,
            "high": row.ratio.high,
            "verdict": report.verdict(row),
        }
        for row in report.rows
        if row.ratio is not None
    ]
    y = {"field": "label", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 400}}
    x = {"type": "quantitative", "scale": {"zero": False}, "title": "time, as a share of the incumbent's"}
    color = {
        "field": "verdict",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(_COLORS), "range": list(_COLORS.values())},
    }
    noise = report.noise
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
        "title": {"text": report.title, "subtitle": report.noise_text, "anchor": "start"},
        "width": _WIDTH,
        "height": {"step": 22},
        "data": {"values": values},
        "layer": layers,
    }
