"""Durations by profile, value of an option and side of a rollout: medians of devices, and their ratios."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from etconfig.app.configuring.usage_record import DURATIONS
from etconfig.base.records import record
from etconfig.fleet.deciding.rollouts import Rollout
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.usage.expected import ExpectedOutcome
from etconfig.fleet.usage.ratios import FAMILY_ERROR, MedianInterval, MedianRatio, lower_rank
from etconfig.fleet.usage.verdicts import UsageDifference, UsedPattern, plain_value_text

MAX_VALUES = 10
"""The most values of an option that are compared: of most devices."""

_SIDES = (True, False)
_BIN = "CAST(floor(ln({metric}) * 1000) AS INTEGER)"
"""The bin of a duration; each is a thousandth wide. A bin has the mean of its durations as its value."""


@record(frozen=True, kw_only=True)
class Cell:
    """Devices with one decision and one pattern of use.

    Attributes:
        expected: The decision, or None.
        used: The pattern, or None.
        devices: The number of devices.
        outcome: What came of the decision, a key of `OUTCOMES`.
        differences: The differences.
    """

    expected: ExpectedOutcome | None
    used: UsedPattern | None
    devices: int
    outcome: str
    differences: tuple[UsageDifference, ...]


@record(frozen=True, kw_only=True)
class Comparison:
    """Two sets of cells.

    Attributes:
        by: `profile`, `option` or `rollout`.
        label: The profile, the option with its value, or the rollout.
        within: The profile of all its devices, or None.
        one: The numbers of the cells of one side.
        other: The numbers of the cells of the other side.
    """

    by: str
    label: str
    within: str | None = None
    one: tuple[int, ...]
    other: tuple[int, ...]


@record(frozen=True, kw_only=True)
class LatencyRow:
    """The medians of two sides, and their ratio.

    Attributes:
        by: `profile`, `option` or `rollout`.
        label: The profile, the option with its value, or the rollout.
        within: The profile of all its devices, or None.
        metric: The duration.
        one: The median of the devices of one side, in microseconds.
        other: The median of the others.
        ratio: Their ratio.
    """

    by: str
    label: str
    within: str | None
    metric: str
    one: MedianInterval
    other: MedianInterval
    ratio: MedianRatio

    def to_jsonable(self) -> dict[str, Any]:
        """Return the row as plain data."""
        high = self.ratio.high
        return {
            "origin": "usage",
            "by": self.by,
            "label": self.label,
            "within": self.within,
            "metric": self.metric,
            "devices": self.one.devices,
            "others": self.other.devices,
            "median_us": self.one.median,
            "others_median_us": self.other.median,
            "ratio": self.ratio.ratio,
            "interval": [self.ratio.low, high if math.isfinite(high) else None],
            "claim": self.ratio.claim,
        }


def comparisons_of(cells: Sequence[Cell], rollouts: Sequence[Rollout]) -> list[Comparison]:
    """Return what is compared: each profile with the others, each value of an option, each side of a rollout.

    Devices without a record, and failed ones, take no part; nor, in rollouts, those with an old revision.
    """
    numbers = [n for n, each in enumerate(cells) if each.used is not None and each.outcome != "failed"]
    profiles = {n: used.profile for n in numbers if (used := cells[n].used) and used.profile is not None}
    found = list(_each_beside_others(cells, "profile", "{}", profiles))
    options: dict[str, dict[int, str]] = {}
    for n in numbers:
        used = cells[n].used
        for path, value in () if used is None else used.options:
            options.setdefault(path, {})[n] = plain_value_text(value)
    for path, values in sorted(options.items()):
        found += _each_beside_others(cells, "option", f"{path} = {{}}", values)
    current = [n for n in numbers if cells[n].outcome not in ("old_revision", "unknown_device")]
    for place, rollout in enumerate(rollouts):
        found += _sides(cells, current, place, str(rollout))
    return found


def _each_beside_others(
    cells: Sequence[Cell], by: str, label: str, groups: dict[int, str]
) -> Iterator[Comparison]:
    devices: dict[str, int] = {}
    for n, group in groups.items():
        devices[group] = devices.get(group, 0) + cells[n].devices
    if len(devices) < 2:
        return
    for group in sorted(devices, key=lambda each: (-devices[each], each))[:MAX_VALUES]:
        one = tuple(n for n, each in groups.items() if each == group)
        other = tuple(n for n, each in groups.items() if each != group)
        yield Comparison(by=by, label=label.replace("{}", group), one=one, other=other)


def _sides(cells: Sequence[Cell], numbers: Sequence[int], place: int, label: str) -> Iterator[Comparison]:
    sides: dict[str | None, tuple[list[int], list[int]]] = {None: ([], [])}
    for n in numbers:
        expected = cells[n].expected
        side = None if expected is None else expected.sides[place]
        if expected is not None and side is not None:
            for within in (None, expected.profile):
                sides.setdefault(within, ([], []))[0 if side else 1].append(n)
    for within, (one, other) in sides.items():
        is_whole = within is not None and len(sides) == 2  # one profile has all of its devices
        if one and other and not is_whole:
            yield Comparison(by="rollout", label=label, within=within, one=tuple(one), other=tuple(other))


def measured_rows(
    database: Database, cells: Sequence[Cell], comparisons: Sequence[Comparison]
) -> list[LatencyRow]:
    """Return the ratios of all comparisons and durations, from the tables `joined` and `cells`.

    The errors of all intervals together are `FAMILY_ERROR`.
    """
    if not comparisons:
        return []
    _make_histogram(database, comparisons)
    counts = {
        (number, metric, side): int(count)
        for number, metric, side, count in database.rows(
            "SELECT number, metric, side, sum(n) FROM merged GROUP BY ALL ORDER BY ALL"
        )
    }
    both = sorted(
        {(n, metric) for n, metric, _ in counts if {(n, metric, s) for s in _SIDES} <= counts.keys()}
    )
    error = FAMILY_ERROR / max(len(both), 1)
    sides = [(n, metric, side) for n, metric in both for side in _SIDES]
    values = _values_at(
        database, [(*side, place) for side in sides for place in _places(counts[side], error)]
    )
    medians = {side: MedianInterval.of(counts[side], partial(_value, values, side), error) for side in sides}
    rows = []
    for number, metric in both:
        each, one, other = comparisons[number], medians[number, metric, True], medians[number, metric, False]
        rows.append(
            LatencyRow(
                by=each.by,
                label=each.label,
                within=each.within,
                metric=metric,
                one=one,
                other=other,
                ratio=MedianRatio.of(one, other),
            )
        )
    order = {name: place for place, name in enumerate(DURATIONS)}
    kinds = {"rollout": 0, "profile": 1, "option": 2}
    return sorted(
        rows,
        key=lambda row: (not row.ratio.claim, kinds[row.by], row.label, row.within or "", order[row.metric]),
    )


def _make_histogram(database: Database, comparisons: Sequence[Comparison]) -> None:
    """Make the table `merged`: the durations of the devices of each side, in bins."""
    parts = " UNION ALL ".join(
        f"SELECT cell, '{metric}' AS metric, {_BIN.format(metric=metric)} AS bin, count(*) AS n, "
        f"sum({metric}) AS total FROM joined JOIN cells USING (outcome, pattern) WHERE {metric} > 0 "
        "GROUP BY ALL"
        for metric in DURATIONS
    )
    database.rows(f"CREATE OR REPLACE TEMP TABLE histogram AS {parts}")
    labels = [
        (number, side, cell)
        for number, each in enumerate(comparisons)
        for side, members in ((True, each.one), (False, each.other))
        for cell in members
    ]
    columns = [[row[place] for row in labels] for place in range(3)]
    database.rows(
        "CREATE OR REPLACE TEMP TABLE merged AS SELECT number, metric, side, bin, sum(n) AS n, "
        "sum(total) / sum(n) AS value FROM histogram JOIN (SELECT unnest(?::INTEGER[]) AS number, "
        "unnest(?::BOOLEAN[]) AS side, unnest(?::INTEGER[]) AS cell) USING (cell) GROUP BY ALL",
        columns,
    )


def _value(values: Mapping[tuple[object, ...], float], side: tuple[object, ...], place: int) -> float:
    return values[side + (place,)]  # noqa: RUF005  (Python 3.10 unpacks no stars there)


def _places(devices: int, error: float) -> set[int]:
    rank = lower_rank(devices, error)
    ends = {rank, devices + 1 - rank} if rank else set()
    return {(devices + 1) // 2, devices // 2 + 1, *ends}


def _values_at(
    database: Database, wanted: Sequence[tuple[int, str, bool, int]]
) -> dict[tuple[object, ...], float]:
    """Return the values at places in ascending order, by number, metric, side and place."""
    columns = [[row[place] for row in wanted] for place in range(4)]
    rows = database.rows(
        "WITH ranked AS (SELECT number, metric, side, value, sum(n) OVER (PARTITION BY number, metric, side "
        "ORDER BY bin) AS upto FROM merged) SELECT number, metric, side, place, min(value) FROM ranked JOIN "
        "(SELECT unnest(?::INTEGER[]) AS number, unnest(?::VARCHAR[]) AS metric, "
        "unnest(?::BOOLEAN[]) AS side, unnest(?::BIGINT[]) AS place) "
        "USING (number, metric, side) WHERE upto >= place GROUP BY ALL",
        columns,
    )
    return {tuple(row[:4]): row[4] for row in rows}
