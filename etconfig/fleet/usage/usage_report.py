"""Reports on the use of a fleet: guards, data and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from etconfig.base.records import record
from etconfig.fleet.running.reports import share_text
from etconfig.fleet.usage.usage_comparison import LatencyRow, UsageCounts
from etconfig.fleet.usage.verdicts import OUTCOMES
from etconfig.profile.usage_guards import FAILURES, Guard
from etconfig.report.model import Table


@record(frozen=True)
class GuardOutcome:
    """The outcome of a guard: `broken`, `held`, or `undecided` if no comparison has enough devices.

    Attributes:
        guard: The guard.
        verdict: The outcome.
        worst: The worst comparison among those with enough devices, or None.
        devices: The most devices that the smaller side of a comparison has.
        note: What a guard on a duration leaves out, if it matters.
    """

    guard: Guard
    verdict: str
    worst: LatencyRow | None
    devices: int
    note: str

    @classmethod
    def of(cls, guard: Guard, rows: Sequence[LatencyRow]) -> GuardOutcome:
        """Judge a guard: it is broken if a claim is worse than it allows."""
        watched = [row for row in rows if (row.by, row.metric) == (guard.by, guard.metric)]
        devices = max((row.ratio.pairs for row in watched), default=0)
        watched = [row for row in watched if row.ratio.pairs >= guard.min_devices]
        broken = [row for row in watched if row.claim and row.excess > guard.worse_than]
        verdict = "broken" if broken else "held" if watched else "undecided"
        worst = max(broken or watched, key=lambda row: row.excess, default=None)
        by = guard.by if guard.metric != FAILURES else ""
        missed = [row.label for row in rows if row.claim and (row.by, row.metric) == (by, FAILURES)]
        note = f"failed devices take no part, and their shares differ: {', '.join(missed)}" if missed else ""
        return cls(guard, verdict, worst, devices, note)

    def __str__(self) -> str:
        if self.worst is None:
            least = f"no comparison has {self.guard.min_devices:,} devices on each side"
            return f"{least}, at most {self.devices:,}"
        return " ".join((*_texts(self.worst)[2:], self.worst.label))


def usage_data(counts: UsageCounts, guards: Sequence[GuardOutcome]) -> dict[str, Any]:
    """Return the use of a fleet as plain data."""
    of_problems = ("file", "problem", "records", "first_row")
    return {
        **{name: getattr(counts, name) for name in ("records", "unnamed", "repeated")},
        "outcomes": dict(counts.outcomes),
        "differences": [
            {"why": each.why, "decided": each.decided, "used": each.used, "devices": devices}
            for each, devices in counts.differences.items()
        ],
        "latency": [_row_data(row) for row in counts.latency if row.metric != FAILURES],
        "failures": [_row_data(row) for row in counts.latency if row.metric == FAILURES],
        "guards": [
            {"guard": str(each.guard), "verdict": each.verdict, "worst": str(each), "note": each.note}
            for each in guards
        ],
        "problems": [dict(zip(of_problems, each, strict=True)) for each in counts.problems],
    }


def _row_data(row: LatencyRow) -> dict[str, Any]:
    shares, medians = ("share", "others_share", "difference"), ("median_us", "others_median_us", "ratio")
    one, other, compared = shares if row.metric == FAILURES else medians
    return {
        **{name: getattr(row, name) for name in ("by", "label", "metric")},
        "devices": row.one.devices,
        "others": row.other.devices,
        one: row.one.median,
        other: row.other.median,
        compared: row.ratio.ratio,
        "interval": [row.ratio.low, row.ratio.high if math.isfinite(row.ratio.high) else None],
        "claim": row.claim,
    }


def usage_tables(counts: UsageCounts, guards: Sequence[GuardOutcome]) -> list[Table]:
    """Return the tables of the use of a fleet."""
    outcomes, total = counts.outcomes, sum(counts.outcomes.values())
    found: tuple[tuple[str, str, Sequence[Sequence[str | int]]], ...] = (
        (
            "Devices",
            "OUTCOME DEVICES SHARE",
            [(OUTCOMES[word], n, share_text(n, total)) for word, n in outcomes.items() if n],
        ),
        (
            "Differences",
            "WHY DECIDED USED DEVICES",
            [
                (OUTCOMES.get(each.why, each.why), each.decided, each.used, n)
                for each, n in counts.differences.items()
            ],
        ),
        (
            "Comparisons",
            "BY METRIC DEVICES OTHERS VALUE OTHERS'_VALUE RATIO INTERVAL CLAIM",
            [
                (row.label, row.metric, row.one.devices, row.other.devices, *_texts(row), row.claim or "")
                for row in counts.latency
            ],
        ),
        ("Guards", "GUARD VERDICT WORST", [(str(each.guard), each.verdict, str(each)) for each in guards]),
        ("Wrong records", "FILE PROBLEM RECORDS FIRST_ROW", counts.problems),
    )
    return [
        Table(caption=caption, headers=[each.replace("_", " ") for each in headers.split()], rows=rows)
        for caption, headers, rows in found
    ]


def _texts(row: LatencyRow) -> tuple[str, str, str, str]:
    """Return the values of both sides, how they compare, and the interval."""
    one, other, found = row.one.median, row.other.median, row.ratio
    if row.metric == FAILURES:
        interval = f"[{100 * found.low:+.2f}, {100 * found.high:+.2f}]"
        return f"{100 * one:.2f} %", f"{100 * other:.2f} %", f"{100 * found.ratio:+.2f} points", interval
    texts = f"{one / 1000:.4g} ms", f"{other / 1000:.4g} ms", f"{found.ratio:.3f}"
    return *texts, found.interval.replace("inf", "...")
