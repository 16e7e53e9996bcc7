"""Validation of inventories by columns: every value of every device, counted by cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.facts.problems import invalid_value
from etconfig.facts.registry import FactType
from etconfig.fleet.inventory.columns import NAME_VALUES, NOT_AN_OBJECT, PROBLEM_COLUMN, FactColumn
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import InventoryPart
from etconfig.fleet.inventory.sql_names import quoted_name, quoted_text

DEFAULT_ROWS = 3
"""The rows that are named for each finding, unless another number is given."""

_MAX_SMALLEST = 1000
"""The most rows of a finding that DuckDB finds without keeping all."""

_MAX_WORDS = 10_000
"""The most distinct texts of a column that Python checks one by one; of more, SQL checks all."""


@record(frozen=True, kw_only=True)
class InventoryFinding:
    """Values of one column that are wrong for one reason.

    Attributes:
        label: The file.
        fact: The fact, or the column that names the devices.
        problem: What is wrong, and what was expected.
        devices: The number of devices.
        rows: The numbers of the first rows, from 1; of JSONL, of the lines that are not empty.
        values: Their values; none of a fact that identifies a device.
        help: An instruction, or None.
        sheets: The paths of the rows in a directory of sheets; else none.
        earlier: The first row, or sheet, with the name of each row, if names are repeated; else none.
    """

    label: str
    fact: str
    problem: str
    devices: int
    rows: tuple[int, ...]
    values: tuple[str, ...] = ()
    help: str | None = None
    sheets: tuple[str, ...] = ()
    earlier: tuple[int | str, ...] = ()

    def to_jsonable(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        names = ("fact", "problem", "devices", "help")
        return {
            "file": self.label,
            **{name: getattr(self, name) for name in names},
            "rows": list(self.rows),
            "values": list(self.values),
            **({"sheets": list(self.sheets)} if self.sheets else {}),
            **({"earlier": list(self.earlier)} if self.earlier else {}),
        }


def validate_part(
    database: Database, part: InventoryPart, rows: int | None = DEFAULT_ROWS
) -> Iterator[InventoryFinding]:
    """Yield the findings of one file, most of them one for each column and cause.

    Args:
        database: The database that reads the file.
        part: The devices.
        rows: The most rows that are named for each finding; None for all.
    """
    found = _findings(database, part, rows)
    if not part.source.path.is_dir():
        yield from found
        return
    from etconfig.fleet.inventory.conversion import sheet_files

    directory = part.source.path
    names = [str(path.relative_to(directory)) for path in sheet_files(directory)]
    for finding in found:
        problem = part.broken_problem if finding.problem == NOT_AN_OBJECT else finding.problem
        yield replace(
            finding,
            problem=problem,
            sheets=tuple(names[row - 1] for row in finding.rows),
            earlier=tuple(names[int(row) - 1] for row in finding.earlier),
        )


def _findings(database: Database, part: InventoryPart, limit: int | None) -> Iterator[InventoryFinding]:
    part.source.attach(database)
    yield from _converted_findings(database, part, limit)
    yield from _unnamed(database, part, limit)
    yield from _duplicates(database, part, limit)
    words = _columns_of_words(database, part)
    checks = [
        (column, check, expected)
        for column in part.facts.values()
        if column not in words
        for check, expected in column.checks()
    ]
    if checks:
        counts = ", ".join(f"count(*) FILTER (WHERE {check})" for _, check, _ in checks)
        row = database.rows(f"SELECT {counts} FROM {part.source.relation}")[0]
        for (column, check, expected), count in zip(checks, row, strict=True):
            if count:
                rows = _first(database, part, check, quoted_name(column.name), limit)
                yield _finding(part, column, f"expected {expected}", count, rows)
    for column in words:
        yield from _wrong_words(database, part, column, limit)


def no_devices(labels: Sequence[str]) -> Diagnostic:
    """Return the problem of inventories that have no device at all."""
    return Diagnostic(
        code="invalid-fact-sheet",
        message=f"there are no devices in {', '.join(labels[:DEFAULT_ROWS])}"
        + (f" and {len(labels) - DEFAULT_ROWS} more" if len(labels) > DEFAULT_ROWS else ""),
        help="check that it is the right file: an inventory has a row or a line for each device, "
        "and a directory of sheets a .json file",
    )


def duplicates_of(database: Database, parts: Sequence[InventoryPart]) -> int:
    """Return the number of names that devices of several files share."""
    if len(parts) < 2 or any(part.source.table is not None for part in parts):
        return 0
    each = " UNION ALL ".join(
        f"SELECT DISTINCT {part.device} AS device FROM {part.source.relation}" for part in parts
    )
    shared = f"SELECT device FROM ({each}) WHERE device IS NOT NULL GROUP BY device HAVING count(*) > 1"
    return int(database.rows(f"SELECT count(*) FROM ({shared})")[0][0])


def _converted_findings(
    database: Database, part: InventoryPart, limit: int | None
) -> Iterator[InventoryFinding]:
    """Yield what was wrong when JSON was converted."""
    if not part.has_problems:
        return
    problems = database.rows(
        "SELECT p.fact, p.problem, p.help, count(*), "
        f"{_smallest('[CAST(line AS VARCHAR), p.value]', 'line', limit)} FROM "
        f"(SELECT unnest({quoted_name(PROBLEM_COLUMN)}) AS p, {part.row} AS line "
        f"FROM {part.source.relation}) GROUP BY ALL ORDER BY min(line), p.fact, p.problem"
    )
    for fact, problem, help, count, first in problems:
        yield InventoryFinding(
            label=part.source.label,
            fact=fact or "",
            problem=problem,
            help=help,
            devices=count,
            rows=tuple(int(line) for line, _ in first),
            values=tuple(value for _, value in first if value is not None),
        )


def _unnamed(database: Database, part: InventoryPart, limit: int | None) -> Iterator[InventoryFinding]:
    unnamed = f"{part.device} IS NULL AND NOT {part.is_broken}"
    (count,) = database.rows(f"SELECT count(*) FROM {part.source.relation} WHERE {unnamed}")[0]
    if count:
        rows = _first(database, part, unnamed, part.device, limit)
        yield InventoryFinding(
            label=part.source.label,
            fact=part.id_column,
            problem="the device has no name",
            help=f"expected {NAME_VALUES} that is not blank",
            devices=count,
            rows=tuple(row for row, _ in rows),
        )


def _duplicates(database: Database, part: InventoryPart, limit: int | None) -> Iterator[InventoryFinding]:
    named = f"SELECT {part.device} AS device, {part.row} AS row FROM {part.source.relation}"
    repeated = (
        f"SELECT device, count(*) AS n, min(row) AS first FROM ({named}) "
        "WHERE device IS NOT NULL GROUP BY device HAVING count(*) > 1"
    )
    names, devices = database.rows(f"SELECT count(*), sum(n)::BIGINT FROM ({repeated})")[0]
    if names:
        rows = database.rows(
            f"SELECT row, first FROM ({named}) JOIN ({repeated}) USING (device) WHERE row > first "
            f"ORDER BY row{_limit(limit)}"
        )
        yield InventoryFinding(
            label=part.source.label,
            fact=part.id_column,
            problem="another row has the same name",
            help="name each device once, with its latest facts",
            devices=devices - names,
            rows=tuple(row for row, _ in rows),
            earlier=tuple(first for _, first in rows),
        )


def _finding(
    part: InventoryPart, column: FactColumn, problem: str, count: int, rows: Sequence[tuple[int, str]]
) -> InventoryFinding:
    unit = f", in {column.info.unit}" if column.info.unit else ""
    return InventoryFinding(
        label=part.source.label,
        fact=column.fact,
        problem=f"{problem}{unit}",
        devices=count,
        rows=tuple(row for row, _ in rows),
        values=() if column.info.is_identifying else tuple(value for _, value in rows),
    )


def _limit(limit: int | None) -> str:
    return "" if limit is None else f" LIMIT {limit}"


def _smallest(value: str, order: str, limit: int | None) -> str:
    """Return the SQL of the values of the smallest rows of a group, in their order."""
    if limit is not None and limit <= _MAX_SMALLEST:
        return f"min_by({value}, {order}, {limit})"
    every = f"list({value} ORDER BY {order})"
    return every if limit is None else f"{every}[:{limit}]"


def _first(
    database: Database, part: InventoryPart, check: str, column: str, limit: int | None
) -> list[tuple[int, str]]:
    """Return the numbers of the first rows that a check finds, with their values."""
    return [
        (row, str(value))
        for row, value in database.rows(
            f"SELECT {part.row} AS row, CAST({column} AS VARCHAR) FROM {part.source.relation} "
            f"WHERE {check} ORDER BY row{_limit(limit)}"
        )
    ]


def _columns_of_words(database: Database, part: InventoryPart) -> list[FactColumn]:
    """Return the columns of texts with few distinct values, except identifying ones."""
    texts = [
        column
        for column in part.facts.values()
        if column.info.type is FactType.STRING and not column.info.is_identifying
    ]
    if not texts:
        return []
    counts = ", ".join(f"approx_count_distinct({column.sql})" for column in texts)
    row = database.rows(f"SELECT {counts} FROM {part.source.relation}")[0]
    return [column for column, count in zip(texts, row, strict=True) if count <= _MAX_WORDS]


def _wrong_words(
    database: Database, part: InventoryPart, column: FactColumn, limit: int | None
) -> Iterator[InventoryFinding]:
    """Yield the texts that the fact's own check refuses, each with what is meant."""
    words = database.rows(
        f"SELECT {column.sql} AS word, count(*) FROM {part.source.relation} WHERE {column.sql} IS NOT NULL "
        "GROUP BY word ORDER BY word"
    )
    for word, count in words:
        try:
            column.info.check(word)
        except ValueError as error:
            rows = _first(database, part, f"{column.sql} = {quoted_text(word)}", column.sql, limit)
            yield InventoryFinding(
                label=part.source.label,
                fact=column.fact,
                problem=str(error),
                help=invalid_value(column.fact, column.info, word, error).help,
                devices=count,
                rows=tuple(row for row, _ in rows),
                values=tuple(value for _, value in rows),
            )
