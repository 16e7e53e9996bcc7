"""`read_measurements`: results of `bench` and `tune` in files, as a part of a page with a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etconfig.errors import MeasurementError
from etconfig.measuring.picture import PlottedRow, draw_intervals
from etconfig.report.model import Table, View, count_text, shown_text
from etconfig.schema.coerce import show_value

_MAX_BYTES = 64 * 2**20
_MAX_ROWS = 40
"""The most configurations that are shown."""
_MOST = 1e12
"""No ratio is as large."""


def read_measurements(path: Path) -> tuple[View, str]:
    """Read what `bench --json` or `tune --json` printed, or a study of `tune`.

    Raises:
        MeasurementError: the file cannot be read, or is something else.
        MissingPackageError: the library that draws is not installed.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise _refused(path, error.strerror or "it cannot be read") from error
    if len(text) > _MAX_BYTES:
        raise _refused(path, f"it has more than {_MAX_BYTES >> 20} MiB")
    try:
        title, lines, rows = _contents(text)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = "it is not what `etconfig bench --json`, `tune --json` or `tune --study` wrote"
        raise _refused(path, reason) from error
    shown = rows[:_MAX_ROWS]
    plotted = [row for row in shown if row.ratio is not None]
    more = len(rows) - len(shown)
    headers = ("configuration", "ratio to what is configured", "95 % interval", "verdict")
    view = View(
        title=f"Measurements: {title}",
        lines=[*lines, *([f"and {count_text(more, 'more configuration')}"] if more else [])],
        tables=[Table(headers=headers, rows=[row.cells() for row in shown])],
    )
    return view, draw_intervals(plotted) if plotted else ""


def _contents(text: bytes) -> tuple[str, list[str], list[PlottedRow]]:
    """Return the title, the lines and the rows of a file. Raises as data does that is something else."""
    first, _, rest = text.partition(b"\n")
    if first.startswith(b'{"etconfig_study"'):
        found = [json.loads(line) for line in rest.splitlines() if line.endswith(b"}")]
        last: dict[str, Any] = {str(each["options"]): each for each in found}  # later rounds measure longer
        return f"study of {json.loads(first)['method']}", [], sorted(map(_tried, last.values()), key=_ratio)
    data = json.loads(text)
    if "etconfig_bench" in data:
        noise = data["noise"]
        lines = [] if noise is None else [f"noise: two equal objects differ by {float(noise['ratio']):.3f}"]
        return f"{data['method']} of {data['model']['path']}", lines, [*map(_measured, data["rows"])]
    lines = ["better options are confirmed" if data["is_better"] else "nothing better is confirmed"]
    title = f"{data['model']['method']} of {data['model']['path']}"
    return title, [*lines, *map(str, data["notes"])], [*map(_tried, data["outcomes"])]


def _measured(row: Mapping[str, Any]) -> PlottedRow:
    """Return a row of `bench --json`."""
    ratio = row["ratio"]
    if ratio is None:
        return PlottedRow(label=str(row["label"]), verdict=f"failed: {row['failure']}")
    return _plotted(row["label"], ratio, str(row["verdict"]))


def _tried(row: Mapping[str, Any]) -> PlottedRow:
    """Return an outcome of `tune`."""
    label = ", ".join(f"{str(path).partition('.')[2]} {show_value(v)}" for path, v in row["options"].items())
    if "failure" in row or "ratio" not in row:
        return PlottedRow(label=label, verdict=f"failed: {row.get('failure')}")
    high = float(row.get("high", math.inf))
    verdict = "faster" if high < 1 else "slower" if float(row["low"]) > 1 else "same"
    return _plotted(label, row, verdict)


def _plotted(label: object, ratio: Mapping[str, Any], verdict: str) -> PlottedRow:
    found = {name: ratio.get(name) for name in ("ratio", "low", "high")}
    numbers = {name: float(number) for name, number in found.items() if number not in (None, math.inf)}
    if "ratio" not in numbers or not all(0 <= number < _MOST for number in numbers.values()):
        raise ValueError(found)
    return PlottedRow(label=shown_text(str(label)), verdict=shown_text(verdict), **numbers)


def _ratio(row: PlottedRow) -> float:
    return math.inf if row.ratio is None else row.ratio


def _refused(path: Path, reason: str) -> MeasurementError:
    help = "give a file of `bench --json`, `tune --json` or `tune --study`"
    return MeasurementError(label=str(path), reason=reason, help=help)
