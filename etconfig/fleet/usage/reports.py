"""Reports on the use of a fleet: tables, data and guards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from etconfig.base.records import record
from etconfig.fleet.running.reports import share_text
from etconfig.fleet.usage.comparison import UsageCounts
from etconfig.fleet.usage.latency import LatencyRow
from etconfig.fleet.usage.verdicts import OUTCOMES, UsageDifference
from etconfig.profile.guards import Guard
from etconfig.report.model import Table, count_text


@record(frozen=True, kw_only=True)
class GuardOutcome:
    """The outcome of a guard.

    Attributes:
        guard: The guard.
        verdict: `broken`, `held`, or `undecided` if no comparison has enough devices.
        worst: The comparison with the highest ratio among those with enough devices, or None.
    """

    guard: Guard
    verdict: str
    worst: LatencyRow | None

    @classmethod
    def of(cls, guard: Guard, rows: Sequence[LatencyRow]) -> GuardOutcome:
        """Judge a guard: it is broken if a claimed ratio is higher than it allows."""
        watched = [
            row
            for row in rows
            if (row.by, row.metric) == (guard.by, guard.metric)
            and min(row.one.devices, row.other.devices) >= guard.min_devices
        ]
        limit = 1 + guard.worse_than
        broken = [row for row in watched if row.ratio.claim is not None and row.ratio.ratio > limit]
        verdict = "broken" if broken else "held" if watched else "undecided"
        worst = max(broken or watched, key=lambda row: row.ratio.ratio, default=None)
        return cls(guard=guard, verdict=verdict, worst=worst)

    def to_jsonable(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        names = ("metric", "worse_than", "min_devices", "by")
        return {
            **{name: getattr(self.guard, name) for name in names},
            "verdict": self.verdict,
            "worst": None if self.worst is None else self.worst.to_jsonable(),
        }

    def __str__(self) -> str:
        if self.worst is None:
            return f"no comparison has {count_text(self.guard.min_devices, 'device')} on each side"
        return f"{self.worst.ratio.ratio:.3f} {_interval(self.worst)} {_name(self.worst)}"


def usage_data(counts: UsageCounts, guards: Sequence[GuardOutcome]) -> dict[str, Any]:
    """Return the use of a fleet as plain data."""
    differences = [
        {"why": each.why, "path": each.path, "decided": each.decided, "used": each.used, "devices": count}
        for each, count in counts.differences.items()
    ]
    return {
        "records": counts.records,
        "unnamed": counts.unnamed,
        "repeated": counts.repeated,
        "outcomes": dict(counts.outcomes),
        "differences": differences,
        "latency": [row.to_jsonable() for row in counts.latency],
        "guards": [each.to_jsonable() for each in guards],
        "problems": [
            {"file": each.file, "problem": each.problem, "records": each.records, "first_row": each.first_row}
            for each in counts.problems
        ],
    }


def usage_tables(counts: UsageCounts, guards: Sequence[GuardOutcome]) -> list[Table]:
    """Return the tables of the use of a fleet."""
    total = sum(counts.outcomes.values())
    return [
        Table(
            caption="Devices",
            headers=("OUTCOME", "DEVICES", "SHARE"),
            rows=[
                (text, counts.outcomes[word], share_text(counts.outcomes[word], total))
                for word, text in OUTCOMES.items()
                if counts.outcomes[word]
            ],
        ),
        Table(
            caption="Differences",
            headers=("WHY", "DECIDED", "USED", "DEVICES"),
            rows=[(_why(each), each.decided, each.used, count) for each, count in counts.differences.items()],
        ),
        Table(
            caption="Durations",
            headers=(
                "BY",
                "METRIC",
                "DEVICES",
                "OTHERS",
                "MEDIAN",
                "OF OTHERS",
                "RATIO",
                "INTERVAL",
                "CLAIM",
            ),
            rows=[
                (
                    _name(row),
                    row.metric,
                    row.one.devices,
                    row.other.devices,
                    _time(row.one.median),
                    _time(row.other.median),
                    f"{row.ratio.ratio:.3f}",
                    _interval(row),
                    row.ratio.claim or "",
                )
                for row in counts.latency
            ],
        ),
        Table(
            caption="Guards",
            headers=("GUARD", "VERDICT", "WORST"),
            rows=[(str(each.guard), each.verdict, str(each)) for each in guards],
        ),
        Table(
            caption="Wrong records",
            headers=("FILE", "PROBLEM", "RECORDS", "FIRST ROW"),
            rows=[(each.file, each.problem, each.records, each.first_row) for each in counts.problems],
        ),
    ]


def _why(difference: UsageDifference) -> str:
    return difference.path or OUTCOMES[difference.why]


def _name(row: LatencyRow) -> str:
    return row.label if row.within is None else f"{row.label} in {row.within}"


def _interval(row: LatencyRow) -> str:
    high = f"{row.ratio.high:.3f}" if math.isfinite(row.ratio.high) else "..."
    return f"[{row.ratio.low:.3f}, {high}]"


def _time(microseconds: float) -> str:
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.4g} s"
    return f"{microseconds / 1e3:.4g} ms" if microseconds >= 1e3 else f"{microseconds:.4g} us"
