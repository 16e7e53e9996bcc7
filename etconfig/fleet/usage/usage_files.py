"""Files of usage records: JSON lines and Parquet, read into the same columns, with what is wrong in a row.

A record with a problem is counted, and nothing else is read of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from etconfig.app.configuring.usage_record import MAX_DURATION, REASONS, VERSION, UsageRecord
from etconfig.errors import FactError
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import (
    JSON_LINES,
    PARQUET,
    InventorySource,
    cannot_read,
)
from etconfig.fleet.inventory.sql_names import quoted_name, quoted_text
from etconfig.profile.usage_guards import DURATIONS

_TEXTS, _COUNTS = ("device", "bundle", "profile", "reason", "variant"), ("revision", "at")
_KINDS = {
    **dict.fromkeys(_TEXTS, "VARCHAR"),
    **dict.fromkeys(_COUNTS, "BIGINT"),
    "options": "VARCHAR",
    **dict.fromkeys(("has_failed", "has_all_options"), "BOOLEAN"),
    **dict.fromkeys(DURATIONS, "DOUBLE"),
}
"""The columns of a record, with their types; `options` is the JSON text of the list."""
_PATHS = {
    **{name: f"durations_us.{name}" for name in DURATIONS},
    "has_failed": "failure",
    "has_all_options": "left_out.options",
}
"""The fields of records that have other names than their columns."""
_OPTIONS = '[{"path": "VARCHAR", "value": "JSON"}]'
_INTS = r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"
_TYPES = {
    "VARCHAR": r"VARCHAR|JSON|ENUM\(.*\)",
    "BIGINT": _INTS,
    "DOUBLE": rf"DOUBLE|FLOAT|DECIMAL\([^)]*\)|{_INTS}",
    "BOOLEAN": ".*",
}
"""The types in files, as patterns, by the types of columns; a BOOLEAN says only if there is a value."""
_ONE_LINE_ONLY = re.compile(r", given |: line \d| in position ")
"""The start of what a message says of one line only: lines with one problem are counted together."""
_HELP = "usage records are lines of JSON (.jsonl), or a .parquet file with their fields as columns"
_BATCH, _MAX_LINE = 10_000, 1 << 20


def usage_relation(database: Database, sources: Sequence[InventorySource]) -> str:
    """Return the SQL of all records of files.

    Its columns are `file`, `row`, `problem`, which is NULL if nothing is wrong, and those of a record.

    Raises:
        FactError: a file cannot be read, or its columns are wrong.
    """
    kinds = ", ".join(f"{quoted_name(name)} {kind}" for name, kind in _KINDS.items())
    database.rows(f"CREATE TEMP TABLE lines (file INT, row BIGINT, problem VARCHAR, {kinds})")
    found, problems = ["SELECT * FROM lines"], []
    for number, source in enumerate(sources):
        try:
            with database.reading():
                if source.path.suffix.lower() in JSON_LINES:
                    _insert_lines(database, number, source.path)
                elif source.path.suffix.lower() in PARQUET:
                    found.append(f"SELECT {number}, {_parquet_rows(database, source)}")
                else:
                    raise OSError("it has no usage records")
        except OSError as error:
            reason = str(error.strerror or error).partition("\n")[0]
            problems.append(cannot_read(source.label, reason, _HELP))
    if problems:
        raise FactError(diagnostics=tuple(problems))
    return f"({' UNION ALL '.join(found)})"


def _insert_lines(database: Database, number: int, path: Path) -> None:
    """Read lines of JSON into the table `lines`; empty ones have no row."""
    values = ", ".join(f"unnest(?::{kind}[])" for kind in ("INT", "BIGINT", "VARCHAR", *_KINDS.values()))
    lines = _lines(path)
    while rows := [[number, row, *_values(line)] for row, line in islice(lines, _BATCH)]:
        database.rows(f"INSERT INTO lines SELECT {values}", [*map(list, zip(*rows, strict=True))])


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield lines that are not empty, with their numbers from 1; of one that is too long, the start."""
    with path.open("rb") as file:
        row, is_start = 1, True
        while line := file.readline(_MAX_LINE):
            if is_start and line.strip():
                yield row, line.removeprefix(b"\xef\xbb\xbf")
            is_start = line.endswith(b"\n")
            row += is_start


def _values(line: bytes) -> list[object]:
    """Return the problem of a line and its values."""
    try:
        read = UsageRecord.from_json(line)
    except ValueError as error:
        return [_ONE_LINE_ONLY.split(str(error))[0], *[None] * len(_KINDS)]
    options = None if read.options is None else json.dumps(read.options)
    has_all = not (read.left_out or {}).get("options")
    durations = [(read.durations_us or {}).get(name) for name in DURATIONS]
    texts = [getattr(read, name) for name in (*_TEXTS, *_COUNTS)]
    return [None, *texts, options, read.failure is not None, has_all, *durations]


def _parquet_rows(database: Database, source: InventorySource) -> str:
    """Return the SQL of the rows of a Parquet file, whose columns are the fields of records.

    Raises:
        OSError: a column is missing, or has a wrong type.
    """
    types = _fields(database, source, "*")
    for struct in {"durations_us", "left_out"} & types.keys():
        types |= {
            f"{struct}.{name}": kind for name, kind in _fields(database, source, f"unnest({struct})").items()
        }
    sql = {}
    for name, path in {**dict.fromkeys(_KINDS), **_PATHS, "version": "etconfig_usage"}.items():
        field, kind = path or name, _KINDS.get(name, "BIGINT")
        found = types.get(field, "NULL").strip('"')
        if name != "options" and not re.fullmatch(f"NULL|{_TYPES[kind]}", found, re.DOTALL):
            raise OSError(f"its column {field} is {found}, but must be {kind}")
        sql[name] = ".".join(map(quoted_name, field.split("."))) if field in types else "NULL"
    if "etconfig_usage" not in types:
        raise OSError("it has no column etconfig_usage, so it has no usage records")
    sql["has_failed"] = f"{sql['has_failed']} IS NOT NULL"
    sql["has_all_options"] = f"coalesce(TRY_CAST({sql['has_all_options']} AS BIGINT) = 0, TRUE)"
    parsed = f"TRY(from_json_strict({sql['options']}, '{_OPTIONS}'))"
    for name in _COUNTS:  # one that is too large is wrong, too
        sql[name] = (
            f"coalesce(TRY_CAST({sql[name]} AS BIGINT), CASE WHEN {sql[name]} IS NOT NULL THEN -1 END)"
        )
    if not re.fullmatch(_TYPES["VARCHAR"], types.get("options", "VARCHAR")):
        if not {"path", "value"} <= _fields(database, source, "unnest(options, recursive := true)").keys():
            raise OSError(
                f"its column options is {types['options']}, but must be STRUCT(path VARCHAR, value JSON)[]"
            )
        parsed, sql["options"] = "options", "to_json(options)"
    selected = ", ".join(
        f"CAST({sql[name]} AS {kind}) AS {quoted_name(name)}" for name, kind in _KINDS.items()
    )
    rows = (
        f"SELECT file_row_number + 1 AS row, {sql['version']} AS version, {selected}, {parsed} AS parsed "
        f"FROM {source.relation}"
    )
    problem = " ".join(f"WHEN {wrong} THEN {quoted_text(text)}" for wrong, text in _row_problems())
    return f"row, CASE {problem} END, {', '.join(map(quoted_name, _KINDS))} FROM ({rows})"


def _row_problems() -> Iterator[tuple[str, str]]:
    """Yield the SQL of what may be wrong with a row, with the text that says so."""
    yield f"version IS DISTINCT FROM {VERSION}", f"etconfig_usage: this etconfig reads version {VERSION}"
    reasons = ", ".join(map(quoted_text, REASONS))
    yield f"coalesce(reason NOT IN ({reasons}), TRUE)", f"reason: expected one of {', '.join(REASONS)}"
    yield from ((f"{name} = ''", f"{name}: expected a text that is not empty") for name in _TEXTS)
    yield (
        "options IS NOT NULL AND coalesce(list_count([each.path for each in parsed]) < len(parsed), TRUE)",
        "options: expected a list of objects with path, value and source",
    )
    yield from (
        (f"{quoted_name(name)} < 0", f"{name}: expected a whole number, 0 or more") for name in _COUNTS
    )
    for name in DURATIONS:
        wrong = f"NOT ({name} >= 0 AND {name} < {MAX_DURATION})"
        yield wrong, f"durations_us.{name}: expected a number, 0 or more and below 10^15"


def _fields(database: Database, source: InventorySource, sql: str) -> dict[str, str]:
    """Return the columns, or the fields of a column of structs, with their types.

    Raises:
        OSError: the column has no fields.
    """
    try:
        return database.columns(f"(SELECT {sql} FROM {source.relation})")
    except (database.errors.BinderException, database.errors.ParserException) as error:
        raise OSError(f"{sql} has no fields: write a STRUCT, or leave the column out") from error
