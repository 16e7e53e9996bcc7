"""Conversion of JSON to Parquet: lines of fact sheets or of plain values, and directories of sheets.

What is wrong in a row is kept in a column beside it; the value itself becomes unknown.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory

from etconfig.facts.problems import unknown_fact
from etconfig.facts.registry import FactInfo, FactRegistry, FactType
from etconfig.fleet.columns import DEVICE_COLUMN, DEVICE_FACT, LINE_COLUMN, PROBLEM_COLUMN
from etconfig.fleet.database import Database
from etconfig.fleet.names import fact_of_column, quoted_name, quoted_text
from etconfig.fleet.whole_file import whole_file
from etconfig.version import __version__

CACHE_DIRECTORY = ".etconfig-fleet"
"""The directory of converted files, beside each inventory."""

_MAX_LINE_BYTES = 16 << 20
_NAMES_OF_DEVICES = (DEVICE_COLUMN, "device.id", "device__id")
_KEYS_OF_SHEETS = ("etconfig_fact_sheet", "facts")

_CASTS = {
    FactType.BOOL: "CASE WHEN {kind} = 'BOOLEAN' THEN CAST({value} AS BOOLEAN) END",
    FactType.INT: "CASE WHEN {kind} IN ('BIGINT', 'UBIGINT') THEN TRY_CAST({value} AS BIGINT) END",
    FactType.FLOAT: "CASE WHEN {kind} IN ('BIGINT', 'UBIGINT', 'DOUBLE') "
    "THEN TRY_CAST({value} AS DOUBLE) END",
    FactType.STRING: "CASE WHEN {kind} = 'VARCHAR' THEN json_extract_string({value}, '$') END",
    FactType.STRING_LIST: "CASE WHEN {kind} = 'ARRAY' AND CAST(json_structure({value}) AS VARCHAR) "
    """IN ('["VARCHAR"]', '["NULL"]') THEN CAST({value} AS VARCHAR[]) END""",
}
_SQL_TYPES = {
    FactType.BOOL: "BOOLEAN",
    FactType.INT: "BIGINT",
    FactType.FLOAT: "DOUBLE",
    FactType.STRING: "VARCHAR",
    FactType.STRING_LIST: "VARCHAR[]",
}
_EXPECTED = {
    FactType.BOOL: "true or false",
    FactType.INT: "an int of at most 64 bits",
    FactType.FLOAT: "a finite number",
    FactType.STRING: "a string",
    FactType.STRING_LIST: "a list of strings",
}


def converted(
    database: Database,
    path: Path,
    identity: str,
    registry: FactRegistry,
    *,
    id_column: str | None = None,
    ignored: Collection[str] = (),
    cache: Path | None = None,
) -> Path:
    """Return the Parquet file of a JSONL file or a directory of sheets; it is made once.

    Args:
        database: The database that converts.
        path: The file, or the directory.
        identity: Changes when the file does.
        registry: The facts.
        id_column: The key that names the devices.
        ignored: Keys to leave out.
        cache: The directory for converted files; None for one beside `path`.

    Raises:
        OSError: the file cannot be read, or the converted one not written.
    """
    directory = cache or path.parent / CACHE_DIRECTORY
    key = json.dumps([__version__, identity, registry.names, id_column, sorted(ignored)])
    target = directory / f"{path.name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.parquet"
    if target.exists():
        return target
    directory.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as beside:
        if path.is_dir():
            with TemporaryDirectory(prefix="etconfig-sheets-") as scratch:
                lines = Path(scratch, "sheets.jsonl")
                _write_lines(path, lines)
                _convert(database, lines, beside, registry, id_column, ignored)
        else:
            _convert(database, path, beside, registry, id_column, ignored)
    return target


def _write_lines(directory: Path, target: Path) -> None:
    """Write every sheet below a directory as a line; a device is named as its file."""
    with target.open("w", encoding="utf-8") as file:
        for path in sorted(directory.rglob("*.json")):
            name = path.relative_to(directory).with_suffix("").as_posix()
            try:
                sheet = json.loads(path.read_bytes())
            except (ValueError, RecursionError):
                sheet = None
            line = {DEVICE_COLUMN: name, **sheet} if isinstance(sheet, dict) else [name]
            file.write(json.dumps(line) + "\n")


def _convert(
    database: Database,
    path: Path,
    target: Path,
    registry: FactRegistry,
    id_column: str | None,
    ignored: Collection[str],
) -> None:
    read = (
        f"read_ndjson_objects({quoted_text(os.fspath(path))}, ignore_errors = true, "
        f"maximum_object_size = {_MAX_LINE_BYTES})"
    )
    objects = (
        "SELECT json, CASE WHEN json_type(json, '/facts') = 'OBJECT' THEN json_extract(json, '/facts') "
        "WHEN json_type(json) = 'OBJECT' THEN json END AS facts"
    )
    found = database.rows(
        f"SELECT DISTINCT unnest(json_keys(facts)) FROM ({objects} FROM {read}) ORDER BY ALL"
    )
    device_keys = _NAMES_OF_DEVICES if id_column is None else (id_column, *_NAMES_OF_DEVICES)
    keys = [row[0] for row in found if row[0] not in (*_KEYS_OF_SHEETS, *ignored)]
    names = [key for key in keys if key not in device_keys or registry.get(fact_of_column(key)) is not None]
    columns = [_column(number, name, registry) for number, name in enumerate(names)]
    devices = [_text_at(each, key) for key in device_keys for each in ("json", "facts")]
    paths = ", ".join(quoted_text(_pointer(name)) for name in names)
    entries = f"json_extract(facts, [{paths}])" if names else "[]"
    not_an_object = "CASE WHEN facts IS NULL THEN 'the line is not a JSON object' END"
    problems = ", ".join([not_an_object, *(problem for _, problem in columns)])
    values = "".join(f", {value}" for value, _ in columns if value)
    database.rows("SET preserve_insertion_order = true")  # for the numbers of lines
    try:
        database.rows(
            f"COPY (WITH lines AS ({objects}, row_number() OVER () AS line FROM {read}), "
            f"entries AS (SELECT line, facts, coalesce({', '.join(devices)}) AS device, "
            f"{entries} AS e FROM lines) "
            f"SELECT device AS {quoted_name(DEVICE_COLUMN if id_column is None else id_column)}, "
            f"line AS {quoted_name(LINE_COLUMN)}, "
            f"[p for p in [{problems}] if p IS NOT NULL] AS {quoted_name(PROBLEM_COLUMN)}"
            f"{values} FROM entries) "
            f"TO {quoted_text(os.fspath(target))} (FORMAT parquet, COMPRESSION zstd)"
        )
    finally:
        database.rows("SET preserve_insertion_order = false")


def _text_at(data: str, key: str) -> str:
    """Return the SQL of a text at a key, or of the value of a fact there."""
    found, value = (quoted_text(_pointer(key) + further) for further in ("", "/value"))
    is_entry = f"json_type({data}, {found}) = 'OBJECT'"
    return f"CASE WHEN {is_entry} THEN {data} ->> {value} ELSE {data} ->> {found} END"


def _pointer(key: str) -> str:
    """Return the JSON pointer to a key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _column(number: int, name: str, registry: FactRegistry) -> tuple[str, str]:
    """Return the SQL of a column and of the problem of its value; no column if no fact has the name."""
    entry = f"e[{number + 1}]"
    fact = fact_of_column(name)
    info = registry.get(fact)
    if info is None:
        problem = unknown_fact(fact, registry)
        return "", _problem(f"{entry} IS NOT NULL", f"{problem.message}; {problem.help}")
    is_entry = f"json_type({entry}) = 'OBJECT'"
    value = f"(CASE WHEN {is_entry} THEN json_extract({entry}, '/value') ELSE {entry} END)"
    kind = f"coalesce(json_type({value}), 'NULL')"
    typed = _CASTS[info.type].format(kind=kind, value=value)
    wrong_type = _problem(
        f"{kind} <> 'NULL' AND ({typed}) IS NULL", f"{fact}: expected {_EXPECTED[info.type]}"
    )
    unit = f"CASE WHEN {is_entry} THEN {entry} ->> '/unit' END"
    wrong_unit = _problem(
        f"({unit}) IS DISTINCT FROM {_unit(info)} AND ({unit}) IS NOT NULL", _unit_text(fact, info)
    )
    sql_type = _SQL_TYPES[info.type]
    if fact == DEVICE_FACT:
        typed = f"coalesce({typed}, device)"
    return f"CAST({typed} AS {sql_type}) AS {quoted_name(fact)}", f"{wrong_unit}, {wrong_type}"


def _unit(info: FactInfo) -> str:
    return "NULL" if info.unit is None else quoted_text(info.unit)


def _unit_text(fact: str, info: FactInfo) -> str:
    return f"{fact}: it has no unit" if info.unit is None else f"{fact}: its unit is {info.unit}"


def _problem(condition: str, text: str) -> str:
    return f"CASE WHEN {condition} THEN {quoted_text(text)} END"
