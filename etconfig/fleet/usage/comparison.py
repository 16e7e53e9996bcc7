"""`compare_usage`: records of use joined with decisions, counted, and their durations compared."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from etconfig.app.configuring.usage_record import DURATIONS
from etconfig.base.records import record
from etconfig.base.written_files import whole_file
from etconfig.fleet.deciding.rollouts import Rollout
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import InventorySource
from etconfig.fleet.inventory.sql_names import quoted_path, quoted_text
from etconfig.fleet.running.result_tables import TABLE_FORMAT
from etconfig.fleet.usage.expected import ExpectedOutcome
from etconfig.fleet.usage.latency import Cell, LatencyRow, comparisons_of, measured_rows
from etconfig.fleet.usage.usage_files import usage_relation
from etconfig.fleet.usage.verdicts import OUTCOMES, UsageDifference, UsedPattern, judge

MAX_PATTERNS = 100_000
"""The most patterns of records, which Python judges one by one."""
_MAX_PROBLEMS = 1000

_PATTERN = ("bundle", "revision", "profile", "reason", "variant", "has_failed", "has_all_options", "options")

ExpectedPart = tuple[Path, Sequence[ExpectedOutcome]]
"""The table of a file of an inventory, and the outcomes whose places it has."""


@record(frozen=True, kw_only=True)
class UsageProblem:
    """What is wrong with some records of a file.

    Attributes:
        file: The file.
        problem: What is wrong.
        records: The number of records.
        first_row: The number of the first one, from 1.
    """

    file: str
    problem: str
    records: int
    first_row: int


@record(frozen=True, kw_only=True)
class UsageCounts:
    """The use of a fleet, counted.

    Attributes:
        records: The number of records, wrong ones included.
        unnamed: The number of records without a device, which are in no table.
        repeated: The number of devices that the inventory has more than once; their first outcome counts.
        outcomes: The number of devices of each key of `OUTCOMES`.
        differences: The number of devices of each difference, most devices first.
        problems: The problems of records.
        latency: The comparisons of durations.
    """

    records: int
    unnamed: int
    repeated: int
    outcomes: Mapping[str, int]
    differences: Mapping[UsageDifference, int]
    problems: Sequence[UsageProblem]
    latency: Sequence[LatencyRow]


def compare_usage(
    database: Database,
    expected: Sequence[ExpectedPart],
    sources: Sequence[InventorySource],
    rollouts: Sequence[Rollout],
    scratch: Path,
    *,
    revision: int | None = None,
    devices: Path | None = None,
) -> UsageCounts:
    """Compare the last record of each device with the decision for it, and the durations of devices.

    Args:
        database: The database.
        expected: The decisions, by file of the inventories.
        sources: The files of records.
        rollouts: The rollouts that the sides of outcomes are about.
        scratch: A directory for files that are converted.
        revision: The revision that devices should have; None for the highest one in the records of a bundle.
        devices: A Parquet file to write, with a row for each device; None for none.

    Raises:
        FactError: a file of records cannot be read.
        OSError: there are too many patterns, the memory does not suffice, or a file cannot be written.
    """
    relation = usage_relation(database, sources, scratch)
    patterns, problems, records, unnamed = _patterns(database, relation, sources)
    outcomes = [outcome for _, part in expected for outcome in part]
    repeated = _join(database, expected, relation)
    cells = _cells(database, outcomes, patterns, _newest(patterns.values(), revision))
    counts: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))
    differences: Counter[UsageDifference] = Counter()
    for cell in cells:
        counts[cell.outcome] += cell.devices
        differences.update(dict.fromkeys(cell.differences, cell.devices))
    latency = measured_rows(database, cells, comparisons_of(cells, rollouts))
    if devices is not None:
        _write_devices(database, cells, devices)
    return UsageCounts(
        records=records,
        unnamed=unnamed,
        repeated=repeated,
        outcomes=counts,
        differences=dict(sorted(differences.items(), key=_most_first)),
        problems=problems,
        latency=latency,
    )


def _most_first(item: tuple[UsageDifference, int]) -> tuple[object, ...]:
    each, count = item
    return -count, each.why, each.path or "", each.decided, each.used


def _patterns(
    database: Database, relation: str, sources: Sequence[InventorySource]
) -> tuple[dict[int, UsedPattern], list[UsageProblem], int, int]:
    """Return the patterns by their hash, the problems, and the numbers of records and of unnamed ones.

    Raises:
        OSError: there are more patterns than Python judges.
    """
    values = ", ".join(f"any_value({name})" for name in _PATTERN)
    rows = database.rows(
        f"SELECT pattern, count(*), count(*) FILTER (device IS NULL), {values} "
        f"FROM (SELECT {_HASH} AS pattern, * FROM {relation} WHERE problem IS NULL) "
        f"GROUP BY pattern LIMIT {MAX_PATTERNS + 1}"
    )
    if len(rows) > MAX_PATTERNS:
        raise OSError(
            f"the records have more than {MAX_PATTERNS:,} combinations of revision, profile, variant "
            "and options; record fewer options, or give fewer files"
        )
    found = {row[0]: _pattern(row[3:]) for row in rows}
    wrong = database.rows(
        f"SELECT file, problem, count(*), min(row) FROM {relation} WHERE problem IS NOT NULL "
        f"GROUP BY file, problem ORDER BY 3 DESC, 1, 2 LIMIT {_MAX_PROBLEMS}"
    )
    problems = [
        UsageProblem(file=sources[file].label, problem=problem, records=count, first_row=row)
        for file, problem, count, row in wrong
    ]
    records = sum(row[1] for row in rows) + sum(each.records for each in problems)
    return found, problems, records, sum(row[2] for row in rows)


_HASH = f"hash({', '.join(_PATTERN)})"


def _pattern(row: Sequence[Any]) -> UsedPattern:
    options = tuple((each["path"], each["value"]) for each in row[-1] or ())
    return UsedPattern(*row[:-1], options)  # type: ignore[call-arg]  # the columns of _PATTERN


def _newest(patterns: Iterable[UsedPattern], revision: int | None) -> dict[str | None, int]:
    """Return the revision that devices should have, by bundle."""
    found: dict[str | None, int] = {}
    for each in patterns:
        if each.revision is not None:
            newest = max(each.revision, found.get(each.bundle, 0))
            found[each.bundle] = newest if revision is None else revision
    return found


def _join(database: Database, expected: Sequence[ExpectedPart], relation: str) -> int:
    """Make the table `joined` of devices; return how many of them the inventory has more than once."""
    tables, start = [], 0
    for path, outcomes in expected:
        tables.append(f"SELECT device, outcome + {start} AS outcome FROM read_parquet({quoted_path(path)})")
        start += len(outcomes)
    means = ", ".join(f"avg({name}) AS {name}" for name in DURATIONS)
    packed = ", ".join(f"{name} := {name}" for name in ("pattern", *DURATIONS))
    database.rows(
        f"CREATE OR REPLACE TEMP TABLE used AS SELECT device, {_HASH} AS pattern, "
        f"max(coalesce(moment, -1)) AS moment, coalesce(any_value(revision), -1) AS revision, {means} "
        f"FROM {relation} WHERE problem IS NULL AND device IS NOT NULL GROUP BY ALL"
    )
    database.rows(
        f"CREATE OR REPLACE TEMP TABLE joined AS WITH decided AS (SELECT device, min(outcome) AS outcome, "
        f"count(*) AS rows FROM ({' UNION ALL '.join(tables)}) WHERE device IS NOT NULL GROUP BY device), "
        f"last AS (SELECT device, arg_max(struct_pack({packed}), (moment, revision, pattern)) AS u FROM used "
        "GROUP BY device) SELECT device, coalesce(outcome, -1) AS outcome, rows, unnest(u) FROM decided "
        "FULL JOIN last USING (device)"
    )
    database.rows("DROP TABLE used")
    return int(database.rows("SELECT count(*) FROM joined WHERE rows > 1")[0][0])


def _cells(
    database: Database,
    outcomes: Sequence[ExpectedOutcome],
    patterns: Mapping[int, UsedPattern],
    newest: Mapping[str | None, int],
) -> list[Cell]:
    """Return the devices with one outcome and one pattern, judged; the table `cells` numbers them."""
    rows = database.rows("SELECT outcome, pattern, count(*) FROM joined GROUP BY ALL ORDER BY ALL")
    found = []
    for place, pattern, count in rows:
        expected = outcomes[place] if place >= 0 else None
        used = None if pattern is None else patterns[pattern]
        outcome, differences = judge(expected, used, newest)
        found.append(
            Cell(expected=expected, used=used, devices=count, outcome=outcome, differences=differences)
        )
    columns = [
        [row[0] for row in rows],
        [row[1] for row in rows],
        [*range(len(rows))],
        [each.outcome for each in found],
    ]
    database.rows(
        "CREATE OR REPLACE TEMP TABLE cells AS SELECT unnest(?::INTEGER[]) AS outcome, "
        "unnest(?::UBIGINT[]) AS pattern, unnest(?::INTEGER[]) AS cell, unnest(?::VARCHAR[]) AS word",
        columns,
    )
    return found


def _write_devices(database: Database, cells: Sequence[Cell], target: Path) -> None:
    """Write the outcome of each device; whole or not at all."""
    columns = [
        [*range(len(cells))],
        [None if each.expected is None else each.expected.profile for each in cells],
        [None if each.used is None else each.used.profile for each in cells],
    ]
    with whole_file(target) as beside:
        database.rows(
            "COPY (SELECT device AS device_id, word AS outcome, decided_profile, used_profile FROM joined "
            "JOIN cells ON joined.outcome = cells.outcome "
            "AND joined.pattern IS NOT DISTINCT FROM cells.pattern JOIN "
            "(SELECT unnest(?::INTEGER[]) AS cell, unnest(?::VARCHAR[]) AS decided_profile, "
            "unnest(?::VARCHAR[]) AS used_profile) USING (cell) ORDER BY ALL) "
            f"TO {quoted_text(os.fspath(beside))} ({TABLE_FORMAT})",
            columns,
        )
