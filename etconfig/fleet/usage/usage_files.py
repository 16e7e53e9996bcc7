"""Files of usage records: JSON lines and Parquet, read into the same columns, with what is wrong in a row.

A record with a problem is counted, and nothing else is read of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from etconfig.app.configuring.usage_record import DURATIONS, REASONS, VERSION, UsageRecord
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import FactError
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import JSON_LINES, PARQUET, InventorySource, find_sources
from etconfig.fleet.inventory.sql_names import quoted_name, quoted_text

_TEXTS, _COUNTS = ("device", "bundle", "profile", "reason", "variant"), ("revision", "at")
COLUMNS = (*_TEXTS, *_COUNTS, "options", "has_failed", "has_all_options", *DURATIONS)
"""The columns of a record; `options` is the JSON text of the list."""

_KINDS = dict(
    zip(
        COLUMNS,
        (*5 * ("VARCHAR",), *2 * ("BIGINT",), "VARCHAR", *2 * ("BOOLEAN",), *4 * ("DOUBLE",)),
        strict=True,
    )
)
_BATCH, _MAX_LINE = 10_000, 1 << 20
_TYPES = {
    "text": ("VARCHAR", "JSON", "ENUM"),
    "int": ("INT",),
    "number": ("INT", "FLOAT", "DOUBLE", "DECIMAL"),
}


def usage_relation(database: Database, texts: Sequence[str]) -> tuple[str, tuple[InventorySource, ...]]:
    """Return the SQL of all records that paths and patterns name, and their files.

    Its columns are `file`, `row`, `problem`, which is NULL if nothing is wrong, and `COLUMNS`.

    Raises:
        FactError: some name no file, a file cannot be read, or its columns are wrong.
    """
    sources = find_sources(texts)
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
            problems.append(_unreadable(source, str(error.strerror or error).partition("\n")[0]))
    if problems:
        raise FactError(diagnostics=tuple(problems))
    return f"({' UNION ALL '.join(found)})", sources


def _unreadable(source: InventorySource, reason: str) -> Diagnostic:
    return Diagnostic(
        code="unreadable-file",
        message=f"cannot read {source.label}: {reason}",
        spans=(Span(file=source.label),),
        help="usage records are lines of JSON (.jsonl), or a .parquet file with their fields as columns",
    )


def _insert_lines(database: Database, number: int, path: Path) -> None:
    """Read lines of JSON into the table `lines`; empty ones have no row."""
    rows: list[list[object]] = []
    values = ", ".join(f"unnest(?::{kind}[])" for kind in ("INT", "BIGINT", "VARCHAR", *_KINDS.values()))
    for row, line in enumerate(_lines(path), 1):
        rows.append([number, row, *_values(line)])
        if len(rows) == _BATCH:
            database.rows(f"INSERT INTO lines SELECT {values}", [*map(list, zip(*rows, strict=True))])
            rows.clear()
    if rows:
        database.rows(f"INSERT INTO lines SELECT {values}", [*map(list, zip(*rows, strict=True))])


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines that are not empty; of one that is far too long, the start."""
    with path.open("rb") as file:
        is_start = True
        while line := file.readline(_MAX_LINE):
            if is_start and line.strip():
                yield line.removeprefix(b"\xef\xbb\xbf")
            is_start = line.endswith(b"\n")


def _values(line: bytes) -> list[object]:
    """Return the problem of a line and its values."""
    try:
        read = UsageRecord.from_json(line)
    except ValueError as error:
        return [str(error).partition(", given ")[0], *[None] * len(COLUMNS)]
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
    fields = _fields(database, source, "*")
    for name in ("etconfig_usage", "reason"):
        if name not in fields:
            raise OSError(f"it has no column {name}, so it has no usage records")
    durations, left_out = (
        _fields(database, source, f"unnest({name})") if name in fields else {}
        for name in ("durations_us", "left_out")
    )
    sql = {name: _typed(name, fields, "text") for name in _TEXTS}
    sql |= {name: _typed(name, fields, "int") for name in _COUNTS}
    sql |= {name: _typed(name, durations, "number", "durations_us.") for name in DURATIONS}
    sql["options"] = "NULL"
    if "options" in fields:
        is_text = fields["options"] in _TYPES["text"]
        sql["options"] = "options" if is_text else "to_json(options)"
        if (
            not is_text
            and not {"path", "value"}
            <= _fields(database, source, "unnest(options, recursive := true)").keys()
        ):
            raise OSError(
                f"its column options is {fields['options']}, but must be STRUCT(path VARCHAR, value JSON)[]"
            )
    sql["has_failed"] = f"{_typed('failure', fields, 'text')} IS NOT NULL"
    sql["has_all_options"] = f"coalesce({_typed('options', left_out, 'int', 'left_out.')} = 0, TRUE)"
    selected = ", ".join(
        f"CAST({sql[name]} AS {kind}) AS {quoted_name(name)}" for name, kind in _KINDS.items()
    )
    version = _typed("etconfig_usage", fields, "int")
    rows = f"SELECT file_row_number + 1 AS row, {version} AS version, {selected} FROM {source.relation}"
    problem = " ".join(f"WHEN {wrong} THEN {quoted_text(text)}" for wrong, text in _row_problems())
    columns = ", ".join(map(quoted_name, COLUMNS))
    return f"row, CASE {problem} END, {columns} FROM ({rows})"


def _row_problems() -> Iterator[tuple[str, str]]:
    """Yield the SQL of what may be wrong with a row, with the text that says so."""
    yield f"version IS DISTINCT FROM {VERSION}", f"etconfig_usage: this etconfig reads version {VERSION}"
    reasons = ", ".join(map(quoted_text, REASONS))
    yield f"coalesce(reason NOT IN ({reasons}), TRUE)", f"reason: expected one of {', '.join(REASONS)}"
    yield from ((f"{name} = ''", f"{name}: expected a text that is not empty") for name in _TEXTS)
    yield from (
        (f"{quoted_name(name)} < 0", f"{name}: expected a whole number, 0 or more") for name in _COUNTS
    )
    for name in DURATIONS:
        yield f"{name} < 0 OR NOT isfinite({name})", f"durations_us.{name}: expected a number, 0 or more"


def _fields(database: Database, source: InventorySource, sql: str) -> Mapping[str, str]:
    """Return the columns or the fields of a column of structs, with their types.

    Raises:
        OSError: the column has no fields.
    """
    try:
        return database.columns(f"(SELECT {sql} FROM {source.relation})")
    except (database.errors.BinderException, database.errors.ParserException) as error:
        raise OSError(f"{sql} has no fields: write a STRUCT, or leave the column out") from error


def _typed(name: str, fields: Mapping[str, str], kind: str, start: str = "") -> str:
    """Return the SQL of a field, NULL if the file has none.

    Raises:
        OSError: it has another type.
    """
    if name not in fields:
        return "NULL"
    if not any(each in fields[name].partition("(")[0] for each in (*_TYPES[kind], '"NULL"')):
        raise OSError(f"its column {start}{name} is {fields[name]}, but must be {_TYPES[kind][-1]}")
    return f"{start}{quoted_name(name)}"
