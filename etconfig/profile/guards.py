"""`[[guard]]` of a project file: the most by which a rollout may be slower."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from functools import partial

from etconfig.base.records import record
from etconfig.diagnostics import Span, did_you_mean
from etconfig.profile.table import TomlTable

METRICS = ("load", "first_run", "p50", "p95")
"""The durations of usage records that a guard may watch."""
KINDS = ("rollout", "profile", "option")
"""The comparisons that a guard may watch."""
DEFAULT_DEVICES = 100
_HELP = 'such as metric = "p95", worse_than = "5%", min_devices = 500'
_KEYS = ("metric", "worse_than", "min_devices", "by")


@record(frozen=True, kw_only=True)
class Guard:
    """A limit on the ratio of two medians.

    Attributes:
        metric: The duration, one of `METRICS`.
        worse_than: The share by which the ratio may be above 1.
        min_devices: The least number of devices on each side.
        by: The comparisons that it watches, one of `KINDS`.
        find_span: Finds the place of its metric.
    """

    metric: str
    worse_than: float
    min_devices: int = DEFAULT_DEVICES
    by: str = KINDS[0]
    find_span: Callable[[], Span] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.metric} by {self.by}: at most {100 * self.worse_than:.6g}% worse"


def read_guards(section: TomlTable) -> tuple[Guard, ...]:
    """Read the guards; their problems are added to the problems of the table."""
    found = []
    for table in section.array_of_tables("guard"):
        table.check_keys(_KEYS, "guard")
        table.require("metric", _HELP)
        table.require("worse_than", _HELP)
        metric = _word(table, "metric", METRICS)
        by = _word(table, "by", KINDS) if "by" in table.data else KINDS[0]
        share = _share(table)
        devices = table.typed("min_devices", (int,), "a number of devices", _HELP)
        if devices is not None and devices < 1:
            table.report(
                "wrong-type", "'min_devices' must be 1 or more", table.value_span("min_devices"), _HELP
            )
        if metric is not None and by is not None and share is not None:
            count = DEFAULT_DEVICES if devices is None else devices
            span = partial(table.value_span, "metric")
            found.append(Guard(metric=metric, worse_than=share, min_devices=count, by=by, find_span=span))
    return tuple(found)


def _word(table: TomlTable, key: str, words: tuple[str, ...]) -> str | None:
    text = table.string(key, _HELP)
    if text is None or text in words:
        return text
    help = did_you_mean(text, words) or _HELP
    table.report("wrong-type", f"{key!r} must be one of {', '.join(words)}", table.value_span(key), help)
    return None


def _share(table: TomlTable) -> float | None:
    """Return a share, as `5%` or 0.05."""
    value = table.typed("worse_than", (str, int, float), "a share, such as 5%", _HELP)
    if value is None:
        return None
    text = str(value).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < math.inf:
        message = f"'worse_than' must be a share of 0 or more, such as \"5%\", but is {text!r}"
        table.report("wrong-type", message, table.value_span("worse_than"), _HELP)
        return None
    return share
