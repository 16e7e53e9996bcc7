"""`read_measurements`: results of `bench` and `tune` in files, as a part of a page with a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from etconfig.base.paired_ratio import PairedRatio
from etconfig.errors import MeasurementError
from etconfig.measuring.picture import draw_intervals
from etconfig.report.model import Table, View, count_text, shown_text
from etconfig.schema.coerce import show_value

_MAX_BYTES = 64 * 2**20
_MAX_ROWS = 40
"""The most configurations that are shown."""
_MOST = 1e12
"""No ratio is as large."""

_Row: TypeAlias = "tuple[str, PairedRatio | None, str]"


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
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        reason = "it is not what `etconfig bench --json`, `tune --json` or `tune --study` wrote"
        raise _refused(path, reason) from error
    shown = rows[:_MAX_ROWS]
    more = len(rows) - len(shown)
    headers = ("configuration", "ratio to what is configured", "95 % interval", "verdict")
    cells = [
        (label, f"{each.ratio:.3f}", each.interval, verdict) if each else (label, "", "", verdict)
        for label, each, verdict in shown
    ]
    view = View(
        title=f"Measurements: {title}",
        lines=[*lines, *([f"and {count_text(more, 'more configuration')}"] if more else [])],
        tables=[Table(headers=headers, rows=cells)],
    )
    plotted = [(shown_text(label), each, verdict) for label, each, verdict in shown if each is not None]
    return view, draw_intervals(plotted) if plotted else ""


def _contents(text: bytes) -> tuple[str, list[str], list[_Row]]:
    """Return the title, the lines and the rows of a file. Raises as data does that is something else."""
    first, _, rest = text.partition(b"\n")
    if first.startswith(b'{"etconfig_study"'):
        found = [json.loads(line) for line in rest.splitlines() if line.endswith(b"}")]
        last: dict[str, Any] = {str(each["options"]): each for each in found}  # later rounds measure longer
        rows = sorted(map(_tried, last.values()), key=lambda row: row[1].ratio if row[1] else math.inf)
        return f"study of {json.loads(first)['method']}", [], rows
    data = json.loads(text)
    if "etconfig_bench" in data:
        noise = data["noise"]
        lines = [] if noise is None else [f"noise: two equal objects differ by {float(noise['ratio']):.3f}"]
        rows = [_row(e["label"], e["ratio"], e["failure"], e["verdict"]) for e in data["rows"]]
        return f"{data['method']} of {data['model']['path']}", lines, rows
    lines = ["better options are confirmed" if data["is_better"] else "nothing better is confirmed"]
    title = f"{data['model']['method']} of {data['model']['path']}"
    return title, [*lines, *map(str, data["notes"])], [*map(_tried, data["outcomes"])]


def _tried(row: Mapping[str, Any]) -> _Row:
    """Return an outcome of `tune`."""
    options = row["options"].items()
    label = ", ".join(f"{str(path).partition('.')[2]} {show_value(value)}" for path, value in options)
    return _row(label, None if "failure" in row else row, row.get("failure"))


def _row(label: object, data: Any, failure: object, verdict: object = None) -> _Row:
    if data is None:
        return str(label), None, f"failed: {failure}"
    high = math.inf if data.get("high") is None else float(data["high"])
    ratio = PairedRatio(ratio=float(data["ratio"]), low=float(data["low"]), high=high, pairs=1)
    if not (0 <= ratio.low <= ratio.ratio <= min(high, _MOST)):
        raise ValueError(data)
    return (
        str(label),
        ratio,
        str(verdict or ("faster" if high < 1 else "slower" if ratio.low > 1 else "same")),
    )


def _refused(path: Path, reason: str) -> MeasurementError:
    help = "give a file of `bench --json`, `tune --json` or `tune --study`"
    return MeasurementError(label=str(path), reason=reason, help=help)
