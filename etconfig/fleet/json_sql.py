"""Conversion of lines of JSON by DuckDB, value by value: a wrong one leaves all others as they are."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from etconfig.facts.problems import unknown_fact
from etconfig.facts.registry import FactInfo, FactRegistry, FactType
from etconfig.fleet.columns import (
    DEVICE_COLUMN,
    DEVICE_FACT,
    ID_COLUMNS,
    LINE_COLUMN,
    NOT_AN_OBJECT,
    PROBLEM_COLUMN,
    SHEET_KEYS,
    check_count,
    unknown_help,
)
from etconfig.fleet.database import Database
from etconfig.fleet.names import fact_of_column, quoted_name, quoted_text

MAX_LINE_BYTES = 16 << 20
"""The longest line; a longer one is an error."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""The mark that some programs write at the start of a file in UTF-8."""

_BETWEEN = 31
"""The code of the character between the parts of a problem's text, which JSON does not show as itself."""

_KEY_IS_REPEATED = "its key is repeated"
_MAX_VALUE = 60
"""The characters that are kept of a wrong value."""
_CASTS = {
    FactType.BOOL: "CASE WHEN {kind} = 'BOOLEAN' THEN CAST({value} AS BOOLEAN) END",
    FactType.INT: "CASE WHEN {kind} IN ('BIGINT', 'UBIGINT') THEN TRY_CAST({value} AS BIGINT) END",
    FactType.FLOAT: "CASE WHEN {kind} IN ('BIGINT', 'UBIGINT', 'DOUBLE') "
    "THEN TRY_CAST({value} AS DOUBLE) + 0.0::DOUBLE END",  # -0.0 is 0.0
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


def convert_exactly(
    database: Database,
    path: Path,
    target: Path,
    registry: FactRegistry,
    id_column: str | None,
    ignored: Collection[str],
) -> None:
    """Write a Parquet file with a row for each line that is not empty, and the columns sorted by fact.

    Args:
        database: The database that converts.
        path: The lines.
        target: The Parquet file.
        registry: The facts.
        id_column: The key that names the devices.
        ignored: Keys to leave out, whatever they have.
    """
    with _in_order(database, path):
        _convert(database, path, target, registry, id_column, ignored)


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
        f"maximum_object_size = {MAX_LINE_BYTES})"
    )
    objects = (
        "SELECT json, CASE WHEN json_type(json, '/facts') = 'OBJECT' THEN json_extract(json, '/facts') "
        "WHEN json_type(json) = 'OBJECT' THEN json END AS facts"
    )
    found = database.rows(
        f"SELECT DISTINCT unnest(json_keys(facts)) FROM ({objects} FROM {read}) ORDER BY ALL"
    )
    check_count(len(found), "different keys in its lines")
    device_keys = ID_COLUMNS if id_column is None else (id_column, *ID_COLUMNS)
    keys = [row[0] for row in found if row[0] not in (*SHEET_KEYS, *ignored)]
    names = [key for key in keys if key not in device_keys or registry.get(fact_of_column(key)) is not None]
    entries_of: dict[str, list[str]] = {}
    for number, name in enumerate(names, 1):
        entries_of.setdefault(fact_of_column(name), []).append(f"e[{number}]")
    key_of = {fact_of_column(name): name for name in names}
    columns = [_column(fact, key_of[fact], entries, registry) for fact, entries in sorted(entries_of.items())]
    devices = [_text_at(each, key) for key in device_keys for each in ("json", "facts")]
    every = [*names, *(row[0] for row in found if row[0] not in names)]  # all, for their number
    paths = ", ".join(quoted_text(_pointer(name)) for name in every)
    entries = f"json_extract(facts, [{paths}])" if every else "[]"
    not_an_object = _case("facts IS NULL", None, NOT_AN_OBJECT)
    problems = ", ".join(f"CASE {case} END" for case in (not_an_object, *(case for _, case in columns)))
    values = "".join(f", {value}" for value, _ in columns if value)
    database.rows(
        f"COPY (WITH lines AS ({objects}, row_number() OVER () AS line FROM {read}), "
        f"extracted AS (SELECT line, json, facts, coalesce({', '.join(devices)}) AS device, "
        f"{entries} AS e FROM lines), "
        f"checked AS (SELECT *, {_repeated_in_line(ignored)} AS repeated FROM extracted), "
        f"entries AS (SELECT * REPLACE ({_without_repeated(every)} AS e) FROM checked) "
        f"SELECT device AS {quoted_name(DEVICE_COLUMN if id_column is None else id_column)}, "
        f"line AS {quoted_name(LINE_COLUMN)}, "
        f"{_problems(problems)} AS {quoted_name(PROBLEM_COLUMN)}"
        f"{values} FROM entries) "
        f"TO {quoted_text(os.fspath(target))} (FORMAT parquet, COMPRESSION zstd)"
    )


@contextmanager
def _in_order(database: Database, path: Path) -> Iterator[None]:
    """Let DuckDB number lines as they stand in a file. Only one thread of it skips a mark at the start."""
    (threads,) = database.rows("SELECT current_setting('threads')")[0]
    with path.open("rb") as file:
        is_marked = file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK
    database.rows("SET preserve_insertion_order = true")
    try:
        if is_marked:
            database.rows("SET threads = 1")
        yield
    finally:
        database.rows(f"SET threads = {threads}")
        database.rows("SET preserve_insertion_order = false")


def _text_at(data: str, key: str) -> str:
    """Return the SQL of a plain value at a key as a text, or of the value of a fact there."""
    found, value = (quoted_text(_pointer(key) + further) for further in ("", "/value"))
    nested = f"CASE WHEN json_type({data}, {value}) NOT IN ('OBJECT', 'ARRAY') THEN {data} ->> {value} END"
    return (
        f"CASE json_type({data}, {found}) WHEN 'OBJECT' THEN {nested} WHEN 'ARRAY' THEN NULL "
        f"ELSE {data} ->> {found} END"
    )


def _pointer(key: str) -> str:
    """Return the JSON pointer to a key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _column(fact: str, key: str, entries: Sequence[str], registry: FactRegistry) -> tuple[str, str]:
    """Return the SQL of a column and of the problem of its value; no column if no fact has the name.

    Args:
        fact: The fact.
        key: A key that names it.
        entries: The SQL of the values at its keys: a fact can be written in two ways.
        registry: The facts.
    """
    entry, is_repeated = entries[0], ""
    if len(entries) > 1:
        both = f"len([each for each in [{', '.join(entries)}] if each IS NOT NULL]) > 1"
        entry = f"(CASE WHEN NOT ({both}) THEN coalesce({', '.join(entries)}) END)"
        is_repeated = _case(both, fact, _KEY_IS_REPEATED)
    info = registry.get(fact)
    if info is None:
        problem = unknown_fact(fact, registry)
        return "", _case(f"{entry} IS NOT NULL", None, problem.message, unknown_help(problem, key), entry)
    is_entry = f"json_type({entry}) = 'OBJECT'"
    value = f"(CASE WHEN {is_entry} THEN json_extract({entry}, '/value') ELSE {entry} END)"
    kind = f"coalesce(json_type({value}), 'NULL')"
    typed = _CASTS[info.type].format(kind=kind, value=value)
    unit = f"CASE WHEN {is_entry} THEN {entry} ->> '/unit' END"
    is_other_unit = f"({unit}) IS DISTINCT FROM {_unit(info)}"
    shown = None if info.is_identifying else value
    expected = f"expected {_EXPECTED[info.type]}"
    cases = (
        is_repeated,
        _case(
            f"{is_entry} AND {_has_repeated(f'json_keys({entry})')}", fact, "a key in its object is repeated"
        ),
        _case(f"{is_other_unit} AND ({unit}) IS NOT NULL", fact, _unit_text(info), None, unit),
        _case(f"{kind} <> 'NULL' AND ({typed}) IS NULL", fact, expected, None, shown),
    )
    sql_type = _SQL_TYPES[info.type]
    if fact == DEVICE_FACT:
        typed = f"coalesce({typed}, device)"
    return f"CAST({typed} AS {sql_type}) AS {quoted_name(fact)}", " ".join(cases)


def _unit(info: FactInfo) -> str:
    return "NULL" if info.unit is None else quoted_text(info.unit)


def _unit_text(info: FactInfo) -> str:
    return "it has no unit" if info.unit is None else f"its unit is {info.unit}"


def _case(
    condition: str, fact: str | None, problem: str, help: str | None = None, value: str | None = None
) -> str:
    """Return the SQL of a case with the text of a problem: of a fact or of the whole line, with its value."""
    texts = (quoted_text(text or "") for text in (fact, problem, help))
    shown = "''" if value is None else f"left(CAST({value} AS VARCHAR), {_MAX_VALUE})"
    return f"WHEN {condition} THEN concat_ws(chr({_BETWEEN}), {', '.join(texts)}, {shown})"


def _problems(cases: str) -> str:
    """Return the SQL of all problems of a line. Few lines have any: a text is split only there."""
    repeated = (
        f"list_transform(coalesce(repeated, []), lambda key: concat_ws(chr({_BETWEEN}), "
        f"replace(key, '__', '.'), {quoted_text(_KEY_IS_REPEATED)}, '', ''))"
    )
    texts = f"list_concat({repeated}, [p for p in [{cases}] if p IS NOT NULL])"
    parts = ", ".join(
        f"'{name}': nullif(string_split(text, chr({_BETWEEN}))[{number + 1}], '')"
        for number, name in enumerate(("fact", "problem", "help", "value"))
    )
    return f"list_transform({texts}, lambda text: {{{parts}}})"


def _has_repeated(keys: str) -> str:
    return f"len({keys}) <> list_unique({keys})"


def _repeated(keys: str, ignored: Collection[str]) -> str:
    """Return the SQL of the keys that are repeated, without those to leave out."""
    is_repeated = f"len(list_filter({keys}, lambda other: other = key)) > 1"
    if ignored:
        is_repeated += f" AND key NOT IN ({', '.join(map(quoted_text, sorted(ignored)))})"
    return f"list_sort(list_distinct(list_filter({keys}, lambda key: {is_repeated})))"


def _repeated_in_line(ignored: Collection[str]) -> str:
    """Return the SQL of the keys of a line that are repeated, NULL if none is: of two, one was extracted."""
    return (
        f"CASE WHEN len(json_keys(facts)) <> list_count(e) THEN {_repeated('json_keys(facts)', ignored)} "
        f"WHEN json_type(json, '/facts') = 'OBJECT' AND {_has_repeated('json_keys(json)')} "
        f"THEN {_repeated('json_keys(json)', ignored)} END"
    )


def _without_repeated(names: Sequence[str]) -> str:
    """Return the SQL of the entries of a line: of a key that is repeated, neither value counts."""
    keys = ", ".join(map(quoted_text, names))
    entry = "CASE WHEN list_contains(repeated, pair[2]) THEN NULL ELSE pair[1] END"
    every = f"list_transform(list_zip(e, [{keys}]), lambda pair: {entry})"
    return f"CASE WHEN repeated IS NULL THEN e ELSE {every} END" if names else "e"
