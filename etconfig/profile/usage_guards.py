"""`[[guard]]` of a project file: the most by which devices of a rollout may be slower, or fail more often."""

from __future__ import annotations

import math

from etconfig.base.records import record
from etconfig.diagnostics import did_you_mean
from etconfig.profile.table import TomlTable

DURATIONS = ("load", "first_run", "p50", "p95")
"""The durations of usage records, in microseconds."""
FAILURES = "failures"
WORDS = {"metric": (*DURATIONS, FAILURES), "by": ("rollout", "profile", "option")}
"""The durations of usage records that a guard may watch, or failed devices, and its comparisons."""
_HELP = 'such as metric = "p95", worse_than = "5%", min_devices = 500'


@record(frozen=True, kw_only=True)
class Guard:
    """A limit on the ratio of two medians, or on the difference of two shares of failed devices.

    Attributes:
        metric: The duration, or `failures`.
        worse_than: The share by which the ratio may be above 1, or the difference above 0.
        min_devices: The least number of devices on each side.
        by: The comparisons that it watches: `rollout`, `profile` or `option`.
    """

    metric: str
    worse_than: float
    min_devices: int = 100
    by: str = "rollout"

    def __str__(self) -> str:
        worse = " percentage points more" if self.metric == FAILURES else "% worse"
        return f"{self.metric} by {self.by}: at most {100 * self.worse_than:.6g}{worse}"


def read_guards(section: TomlTable) -> tuple[Guard, ...]:
    """Read the guards; their problems are added to the problems of the table."""
    found = []
    for table in section.array_of_tables("guard"):
        before = len(section.problems)
        table.check_keys(("metric", "worse_than", "min_devices", "by"), "guard")
        for key in ("metric", "worse_than"):
            table.require(key, _HELP)
        given = {"by": "rollout", "min_devices": 100, **table.data}
        for key, words in WORDS.items():
            text = table.string(key, _HELP)
            if text is not None and text not in words:
                message = f"{key!r} must be one of {', '.join(words)}"
                table.report("wrong-type", message, table.value_span(key), did_you_mean(text, words) or _HELP)
        if given.get("metric") == FAILURES and given["by"] in ("profile", "option"):
            message = (
                "'by' must be rollout for failures: records of failed devices may lack profile and options"
            )
            table.report("wrong-type", message, table.value_span("by"), 'write by = "rollout"')
        share = _share(table.typed("worse_than", (str, int, float), "a share, such as 5%", _HELP))
        if not 0 <= share < math.inf:
            message = "'worse_than' must be a share of 0 or more, such as \"5%\" or 0.05"
            table.report("wrong-type", message, table.value_span("worse_than"), _HELP)
        devices = table.typed("min_devices", (int,), "a number of devices", _HELP)
        if devices is not None and devices < 1:
            message = "'min_devices' must be 1 or more"
            table.report("wrong-type", message, table.value_span("min_devices"), _HELP)
        if len(section.problems) == before:
            found.append(Guard(**{**given, "worse_than": share}))
    return tuple(found)


def _share(value: object) -> float:
    """Return a share, such as `5%` or 0.05; 0 for nothing, -1 for what is none, such as 5 without `%`."""
    text = str(0 if value is None else value).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return -1.0
    return share if text.endswith("%") or share <= 1 else -1.0
