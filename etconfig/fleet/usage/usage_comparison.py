"""`compare_usage`: the records of devices joined with the decisions for them, counted; sides compared."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from etconfig.base.option_path import OptionPath
from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record
from etconfig.base.written_files import FilesOfRun, whole_file
from etconfig.fleet.deciding.outcome import ResolvedOption
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import InventorySource
from etconfig.fleet.inventory.sql_names import quoted_path, quoted_text
from etconfig.fleet.running.result_tables import RESULT_TABLES, TABLE_FORMAT, table_kind
from etconfig.fleet.running.runs import FleetRuns, PlannedRun
from etconfig.fleet.usage.ratios import (
    FAMILY_ERROR,
    MedianInterval,
    lower_place,
    median_ratio,
    share_difference,
    share_interval,
)
from etconfig.fleet.usage.usage_files import usage_relation
from etconfig.fleet.usage.verdicts import NOT_YET, OUTCOMES, UsageDifference, UsedPattern, use_verdict
from etconfig.profile.usage_guards import DURATIONS, FAILURES

MAX_PATTERNS = 100_000
"""The most patterns of records, which Python judges one by one."""
_MAX_PROBLEMS = 1000
_MAX_VALUES = 10
"""The most profiles, and values of an option, that are compared: of most devices."""
_PATTERN = ("bundle", "revision", "profile", "reason", "variant", "has_failed", "has_all_options", "options")
_HASH = f"hash({', '.join(_PATTERN)})"
_BIN = "CAST(floor(ln({0}) * 1000) AS INTEGER)"
"""The bin of a duration, a thousandth wide. All in a bin count with their mean."""
_Split: TypeAlias = "tuple[str, str, list[int], list[int]]"
"""What is compared, its words, and the cells of both sides."""


@record(frozen=True)
class _Cell:
    """Devices with one decision and one pattern; `runs_it` is False if they do not run the decision."""

    key: tuple[int, int]
    devices: int
    profile: str | None
    sides: Mapping[str, bool]
    used: UsedPattern | None
    outcome: str
    differences: tuple[UsageDifference, ...]
    runs_it: bool


@record(frozen=True)
class LatencyRow:
    """The medians of two sets of devices, and their ratio; for failures, their shares and the difference.

    Attributes:
        by: `profile`, `option` or `rollout`.
        label: The profile, the option with its value, or the rollout.
        metric: The duration, or `failures`.
        one: The median of these devices, in microseconds, or the share of them that failed.
        other: The same of the others.
    """

    by: str
    label: str
    metric: str
    one: MedianInterval
    other: MedianInterval

    @property
    def ratio(self) -> PairedRatio:
        """The ratio of the medians, or the difference of the shares."""
        return (share_difference if self.metric == FAILURES else median_ratio)(self.one, self.other)

    @property
    def excess(self) -> float:
        """The ratio above 1, or the difference: positive if these devices are worse."""
        return self.ratio.ratio - (self.metric != FAILURES)

    @property
    def claim(self) -> str | None:
        """`slower` or `faster`, `more` or `fewer`; None if the interval contains 1, or 0 for a difference."""
        even, worse, better = (0, "more", "fewer") if self.metric == FAILURES else (1, "slower", "faster")
        return worse if self.ratio.low > even else better if self.ratio.high < even else None


@record(frozen=True, kw_only=True)
class UsageCounts:
    """The use of a fleet, counted.

    Attributes:
        records: The number of records, wrong ones included.
        unnamed: The number of records without a device, which are in no table.
        repeated: The number of devices that the inventory has more than once; one of the rows counts.
        outcomes: The number of devices of each key of `OUTCOMES`.
        differences: The number of devices of each difference, most devices first.
        problems: The file, the problem, the number and the first row of wrong records.
        latency: The comparisons of durations and failures; claims come first.
    """

    records: int
    unnamed: int
    repeated: int
    outcomes: Mapping[str, int]
    differences: Mapping[UsageDifference, int]
    problems: Sequence[tuple[str, str, int, int]]
    latency: Sequence[LatencyRow]


def compare_usage(
    runs: FleetRuns,
    planned: PlannedRun,
    usage: Sequence[InventorySource],
    directory: Path,
    files: FilesOfRun,
    revision: int | None,
) -> UsageCounts:
    """Compare the last record of each device with the decision for it, and the durations of devices.

    Args:
        runs: The runs over the inventories.
        planned: Decides about the devices.
        usage: The files of records, as `find_sources` returns them.
        directory: Gets the tables of `resolve`, and `usage.parquet`: the outcome of each device.
        files: The files of the run.
        revision: The revision that devices should have; None for the highest one in the records.

    Raises:
        RefusedFileError, WorkersError: as for `FleetRuns.resolve`.
        FactError: a file cannot be read.
        OSError: there are too many patterns, the memory does not suffice, or a file cannot be written.
    """
    target = directory / "usage.parquet"
    with runs.database() as database:
        files.check(target, table_kind(database), is_named=False)
    runs.resolve(planned, directory, files)
    with runs.database() as database:
        return _compared(database, directory, usage, revision, target)


def _compared(
    database: Database, results: Path, usage: Sequence[InventorySource], revision: int | None, target: Path
) -> UsageCounts:
    relation = usage_relation(database, usage)
    rows = database.rows(
        f"SELECT {_HASH} AS pattern, count(*), count(*) FILTER (device IS NULL), "
        f"{', '.join(f'any_value({name})' for name in _PATTERN)} FROM {relation} WHERE problem IS NULL "
        f"GROUP BY pattern LIMIT {MAX_PATTERNS + 1}"
    )
    if len(rows) > MAX_PATTERNS:
        what = "combinations of revision, profile, variant and options"
        raise OSError(f"the records have more than {MAX_PATTERNS:,} {what}; record fewer options")
    patterns = {row[0]: _pattern(row[3:]) for row in rows}
    problems = database.rows(
        f"SELECT file, problem, count(*), min(row) FROM {relation} WHERE problem IS NOT NULL "
        f"GROUP BY file, problem ORDER BY 3 DESC, 1, 2 LIMIT {_MAX_PROBLEMS}"
    )
    repeated = _join(database, results, relation)
    cells = _judged(database, results, patterns, revision)
    _write_cells(database, cells, target)
    outcomes = Counter(dict.fromkeys(OUTCOMES, 0))
    differences: Counter[UsageDifference] = Counter()
    for cell in cells:
        outcomes[cell.outcome] += cell.devices
        differences.update(dict.fromkeys(cell.differences, cell.devices))
    ordered = sorted(differences, key=lambda each: (-differences[each], each.why, each.decided, each.used))
    return UsageCounts(
        records=sum(row[1] for row in rows) + sum(row[2] for row in problems),
        unnamed=sum(row[2] for row in rows),
        repeated=repeated,
        outcomes=outcomes,
        differences={each: differences[each] for each in ordered},
        problems=[(usage[file].label, *others) for file, *others in problems],
        latency=_latency(database, cells),
    )


def _pattern(row: Sequence[Any]) -> UsedPattern:
    return UsedPattern(*row[:-1], _options(row[-1]))  # type: ignore[call-arg]  # the columns of _PATTERN


def _options(text: str | None) -> dict[str, str]:
    """Return the values of the options of a record as JSON texts, by path.

    Raises:
        OSError: a Parquet file has something else there.
    """
    try:
        found = json.loads(text or "[]")
        return {each["path"]: json.dumps(each["value"], sort_keys=True, ensure_ascii=False) for each in found}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise OSError(f"options {text!a:.60} are not a list of objects with path and value") from error


def _join(database: Database, results: Path, relation: str) -> int:
    """Make the table `joined` of devices; return how many of them the inventory has more than once."""
    means = ", ".join(f"avg({name}) AS {name}" for name in DURATIONS)
    packed = ", ".join(f"{name} := {name}" for name in ("pattern", *DURATIONS))
    decision = "hash(profile, resolution, rollouts)"
    database.rows(
        f'CREATE TEMP TABLE used AS SELECT device, {_HASH} AS pattern, max(coalesce("at", -1)) AS moment, '
        f"coalesce(any_value(revision), -1) AS revision, {means} FROM {relation} "
        "WHERE problem IS NULL AND device IS NOT NULL GROUP BY ALL"
    )
    assignments = f"read_parquet({quoted_path(results / RESULT_TABLES[0])})"
    database.rows(
        f"CREATE TEMP TABLE decisions AS SELECT {decision} AS decision, any_value(profile) AS profile, "
        f"any_value(resolution) AS resolution, any_value(rollouts) AS rollouts FROM {assignments} GROUP BY 1"
    )
    database.rows(
        f"CREATE TEMP TABLE joined AS WITH decided AS (SELECT device_id AS device, "
        f"min({decision}) AS decision, count(*) AS rows FROM {assignments} "
        "WHERE device_id IS NOT NULL GROUP BY device_id), "
        f"last AS (SELECT device, arg_max(struct_pack({packed}), (moment, revision, pattern)) AS u FROM used "
        "GROUP BY device) SELECT device, coalesce(decision, 0) AS decision, rows, "
        f"coalesce(u.pattern, 0) AS pattern, {', '.join(f'u.{name} AS {name}' for name in DURATIONS)} "
        "FROM decided FULL JOIN last USING (device)"
    )
    database.rows("DROP TABLE used")
    return int(database.rows("SELECT count(*) FROM joined WHERE rows > 1")[0][0])


def _judged(
    database: Database, results: Path, patterns: Mapping[int, UsedPattern], revision: int | None
) -> list[_Cell]:
    """Return the devices of each decision and pattern, judged."""
    options: dict[str, list[ResolvedOption]] = {}
    resolutions = f"read_parquet({quoted_path(results / RESULT_TABLES[1])})"
    names = "resolution, backend, option, method, instance, value, origin"
    for resolution, backend, option, method, instance, value, origin in database.rows(
        f"SELECT {names} FROM {resolutions} ORDER BY ALL"
    ):
        path = OptionPath(backend, option, method, instance)
        options.setdefault(resolution, []).append(ResolvedOption(path, value, origin))
    if revision is None:
        revision = max((each.revision or 0 for each in patterns.values()), default=0)
    cells = []
    for decision, pattern, devices, profile, resolution, rollouts in database.rows(
        "SELECT decision, pattern, count(*), any_value(profile), any_value(resolution), any_value(rollouts) "
        "FROM joined LEFT JOIN decisions USING (decision) GROUP BY decision, pattern ORDER BY ALL"
    ):
        found = patterns.get(pattern)
        decided = None if resolution is None else options.get(resolution, [])
        verdict = use_verdict(profile, decided, found, revision) if decision else ("unknown_device", ())
        sides = json.loads(rollouts or "{}")
        without = verdict[0]
        if found is not None and without == "failed":  # the outcome if it had not failed
            reason = "named" if found.reason == "error" else found.reason
            tried = replace(found, has_failed=False, reason=reason)
            without = use_verdict(profile, decided, tried, revision)[0]
        runs_it = without not in NOT_YET
        cells.append(_Cell((decision, pattern), devices, profile, sides, found, *verdict, runs_it))
    return cells


def _write_cells(database: Database, cells: Sequence[_Cell], target: Path) -> None:
    """Make the table `cells`, and write the outcome of each device; whole or not at all."""
    rows = [
        (number, *each.key, each.outcome, each.profile, each.used and each.used.profile)
        for number, each in enumerate(cells)
    ]
    texts = ("outcome VARCHAR", "decided VARCHAR", "used VARCHAR")
    given = _given("cell INT", "decision UBIGINT", "pattern UBIGINT", *texts)
    database.rows(f"CREATE TEMP TABLE cells AS FROM {given}", _columns(rows, 6))
    with whole_file(target) as beside:
        database.rows(
            "COPY (SELECT device AS device_id, outcome, decided AS decided_profile, used AS used_profile "
            "FROM joined JOIN cells USING (decision, pattern)) "
            f"TO {quoted_text(os.fspath(beside))} ({TABLE_FORMAT})"
        )


def _given(*names: str) -> str:
    """Return the SQL of a table whose columns are parameters, such as `cell INT`."""
    columns = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in map(str.split, names))
    return f"(SELECT {columns})"


def _columns(rows: Sequence[Sequence[object]], count: int) -> list[list[object]]:
    return [[row[place] for row in rows] for place in range(count)]


def _other_splits(cells: Sequence[_Cell]) -> Iterator[_Split]:
    """Yield each profile and value of an option with all others; failed devices take no part."""
    labels: dict[tuple[str, str], dict[str, list[int]]] = {}
    for number, cell in enumerate(cells):
        if cell.used is None or cell.outcome == "failed":
            continue
        if cell.used.profile is not None:
            labels.setdefault(("profile", ""), {}).setdefault(cell.used.profile, []).append(number)
        for path, value in cell.used.options.items():
            labels.setdefault(("option", f"{path} = "), {}).setdefault(value, []).append(number)
    for (by, start), groups in labels.items():
        sizes = {label: sum(cells[n].devices for n in members) for label, members in groups.items()}
        if len(groups) > 1:
            for label in sorted(groups, key=lambda each: (-sizes[each], each))[:_MAX_VALUES]:
                others = [n for other, members in groups.items() if other != label for n in members]
                yield by, start + label, groups[label], others


def _rollout_splits(cells: Sequence[_Cell], *, with_failed: bool) -> Iterator[_Split]:
    """Yield the sides of rollouts, also in each profile: devices that run the decision, or try to."""
    labels: dict[str, dict[str, dict[bool, list[int]]]] = {}
    for number, cell in enumerate(cells):
        if cell.used is not None and cell.runs_it and (with_failed or cell.outcome != "failed"):
            for rollout, side in cell.sides.items():
                for end in ("", f" in {cell.profile}"):
                    groups = labels.setdefault(rollout, {}).setdefault(end, {})
                    groups.setdefault(side, []).append(number)
    for rollout, parts in labels.items():
        for end, groups in parts.items():
            if len(groups) == 2 and (end or len(parts) > 2):  # of a single profile, its part says it all
                yield "rollout", rollout + end, groups[True], groups[False]


def _latency(database: Database, cells: Sequence[_Cell]) -> list[LatencyRow]:
    """Return all comparisons; all intervals together have the error `FAMILY_ERROR`."""
    splits = [*_rollout_splits(cells, with_failed=False), *_other_splits(cells)]
    rollouts = [*_rollout_splits(cells, with_failed=True)]
    parts = " UNION ALL ".join(
        f"SELECT cell, '{name}' AS metric, {_BIN.format(name)} AS bin, count(*) AS n, sum({name}) AS total "
        f"FROM joined JOIN cells USING (decision, pattern) WHERE {name} >= 0.001 GROUP BY ALL"
        for name in DURATIONS
    )
    members = [
        (number, side, cell)
        for number, each in enumerate(splits)
        for side in (0, 1)
        for cell in each[2 + side]
    ]
    database.rows(
        f"CREATE TEMP TABLE merged AS WITH histogram AS MATERIALIZED ({parts}) "
        "SELECT number, metric, side, bin, sum(n) AS n, sum(total) / sum(n) AS value "
        f"FROM histogram JOIN {_given('number INT', 'side INT', 'cell INT')} USING (cell) GROUP BY ALL",
        _columns(members, 3),
    )
    pairs = database.rows(
        "SELECT number, metric, sum(n) FILTER (side = 0), sum(n) FILTER (side = 1) FROM merged "
        "GROUP BY ALL HAVING min(side) < max(side)"
    )
    sides = {(number, metric, side): int(n[side]) for number, metric, *n in pairs for side in (0, 1)}
    error = FAMILY_ERROR / max(len(pairs) + len(rollouts), 1)
    places = {side: _places(devices, error) for side, devices in sides.items()}
    wanted = [(*side, place) for side, found in places.items() for place in {*found} - {0}]
    values: dict[tuple[object, ...], float] = {
        tuple(row[:4]): row[4]
        for row in database.rows(
            "WITH ranked AS (SELECT number, metric, side, value, sum(n) OVER (PARTITION BY number, metric, "
            "side ORDER BY bin) AS upto FROM merged) SELECT number, metric, side, place, min(value) "
            f"FROM ranked JOIN {_given('number INT', 'metric VARCHAR', 'side INT', 'place BIGINT')} "
            "USING (number, metric, side) WHERE upto >= place GROUP BY ALL",
            _columns(wanted, 4),
        )
    }

    def median(number: int, metric: str, end: int) -> MedianInterval:
        side = (number, metric, end)
        low, first, second, high = ((*side, place) for place in places[side])
        middle = (values[first] + values[second]) / 2
        return MedianInterval(sides[side], middle, values.get(low, 0.0), values.get(high, math.inf))

    def share(members: Sequence[int]) -> MedianInterval:
        failed = sum(cells[n].devices for n in members if cells[n].outcome == "failed")
        return share_interval(failed, sum(cells[n].devices for n in members), error)

    rows = [
        LatencyRow(
            splits[number][0], splits[number][1], metric, median(number, metric, 0), median(number, metric, 1)
        )
        for number, metric, *_ in pairs
    ]
    rows += [LatencyRow(by, label, FAILURES, share(one), share(other)) for by, label, one, other in rollouts]
    kinds, metrics = ("rollout", "profile", "option"), (*DURATIONS, FAILURES)
    return sorted(
        rows, key=lambda row: (not row.claim, kinds.index(row.by), row.label, metrics.index(row.metric))
    )


def _places(devices: int, error: float) -> tuple[int, int, int, int]:
    """Return the places of the median, between those of the ends of its interval; 0 if it has none."""
    low = lower_place(devices, error)
    return low, (devices + 1) // 2, devices // 2 + 1, devices + 1 - low
