"""Conversion of lines of JSON by DuckDB, value by value: a wrong one leaves all others as they are."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from etconfig.facts.problems import unknown_fact
from etconfig.facts.registry import FactInfo, FactRegistry, FactType
from etconfig.facts.sheet_json import ENTRY_KEYS, SHEET_VERSION
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
_IS_SHEET = "json_type(json, '/facts') = 'OBJECT'"
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
        f"SELECT json, CASE WHEN {_IS_SHEET} THEN json_extract(json, '/facts') "
        "WHEN json_type(json) = 'OBJECT' THEN json END AS facts"
    )
    found, found_beside = _keys(database, f"{objects} FROM {read}")
    check_count(len({*found, *found_beside}), "different keys in its lines")
    device_keys = ID_COLUMNS if id_column is None else (id_column, *ID_COLUMNS)
    keys = [key for key in found if key not in (*SHEET_KEYS, *ignored)]
    names = [key for key in keys if key not in device_keys or registry.get(fact_of_column(key)) is not None]
    places_of: dict[str, list[int]] = {}
    for number, name in enumerate(names, 1):
        places_of.setdefault(fact_of_column(name), []).append(number)
    key_of = {fact_of_column(name): name for name in names}
    columns = [_column(fact, key_of[fact], places, registry) for fact, places in sorted(places_of.items())]
    devices = [_text_at(each, key) for key in device_keys for each in ("json", "facts")]
    every = [*names, *(key for key in found if key not in names)]  # all, for their number
    paths = ", ".join(quoted_text(_pointer(name)) for name in every)
    # each call of a function of JSON in the query takes memory, so one call gets the keys of all objects
    entries, entry_keys = (
        f"{function}(facts, [{paths}])" if every else "[]" for function in ("json_extract", "json_keys")
    )
    beside = [key for key in found_beside if key not in (*SHEET_KEYS, *device_keys, *ignored)]
    cases = [*_sheet_cases(ignored), *(_beside_case(key, registry) for key in beside)]
    problems = ", ".join(f"CASE {case} END" for case in (*cases, *(case for _, case in columns)))
    values = "".join(f", {value}" for value, _ in columns if value)
    database.rows(
        f"COPY (WITH lines AS ({objects}, row_number() OVER () AS line FROM {read}), "
        f"extracted AS (SELECT line, json, facts, coalesce({', '.join(devices)}) AS device, "
        f"{entries} AS e, {entry_keys} AS k, json_keys(facts) AS keys, "
        f"CASE WHEN {_IS_SHEET} THEN json_keys(json) END AS beside FROM lines), "
        f"checked AS (SELECT *, {_repeated_in_line(ignored)} AS repeated FROM extracted), "
        f"entries AS (SELECT * REPLACE ({_without_repeated(every)} AS e) FROM checked) "
        f"SELECT device AS {quoted_name(DEVICE_COLUMN if id_column is None else id_column)}, "
        f"line AS {quoted_name(LINE_COLUMN)}, "
        f"{_problems(problems)} AS {quoted_name(PROBLEM_COLUMN)}"
        f"{values} FROM entries) "
        f"TO {quoted_text(os.fspath(target))} (FORMAT parquet, COMPRESSION zstd)"
    )


def _keys(database: Database, objects: str) -> tuple[list[str], list[str]]:
    """Return the keys of facts, and those beside the key `facts` of sheets, both sorted."""
    rows = database.rows(
        "SELECT DISTINCT unnest(json_keys(facts)), "
        f"unnest(CASE WHEN {_IS_SHEET} THEN json_keys(json) ELSE [] END) FROM ({objects})"
    )
    facts, beside = ({row[place] for row in rows} - {None} for place in (0, 1))
    return sorted(facts), sorted(beside)


def _sheet_cases(ignored: Collection[str]) -> Iterator[str]:
    """Yield the SQL of the problems of a whole line, or of a whole sheet."""
    yield _case("facts IS NULL", None, NOT_AN_OBJECT)
    version, facts = map(quoted_text, SHEET_KEYS)
    if SHEET_KEYS[0] not in ignored:
        number = f"json_extract(json, {quoted_text(_pointer(SHEET_KEYS[0]))})"
        is_right = f"json_type({number}) = 'NULL' OR CAST({number} AS VARCHAR) = '{SHEET_VERSION}'"
        yield _case(
            f"list_contains(coalesce(beside, keys), {version}) AND NOT ({is_right})",
            None,
            f"the version of the sheet is not {SHEET_VERSION}",
            "save the sheet again with this version of etconfig, or install a newer etconfig",
            number,
        )
    if SHEET_KEYS[1] not in ignored:
        help = 'write {"facts": {"cpu.arch": {"value": "arm64"}}}, or plain values without the key'
        yield _case(
            f"beside IS NULL AND list_contains(keys, {facts})",
            None,
            "expected an object under the key 'facts'",
            help,
            "json_extract(json, '/facts')",
        )
        yield _case(
            f"beside IS NOT NULL AND list_contains(keys, {facts})",
            None,
            "a whole sheet is under the key 'facts'",
            "give only its facts there",
        )


def _beside_case(key: str, registry: FactRegistry) -> str:
    """Return the SQL of the problem of a key beside the key `facts` of a sheet, which is not read."""
    has_key = f"list_contains(beside, {quoted_text(key)})"
    fact = fact_of_column(key)
    if registry.get(fact) is not None:
        return _case(has_key, None, f"the fact {fact!r} is beside the key 'facts'", "move it into 'facts'")
    help = unknown_help(unknown_fact(fact, registry), key)
    return _case(has_key, None, f"unknown key {key!r} beside the key 'facts'", help)


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


def _column(fact: str, key: str, places: Sequence[int], registry: FactRegistry) -> tuple[str, str]:
    """Return the SQL of a column and of the problem of its value; no column if no fact has the name.

    Args:
        fact: The fact.
        key: A key that names it.
        places: The places of its keys among all: a fact can be written in two ways.
        registry: The facts.
    """
    entries, keys = ([f"{name}[{place}]" for place in places] for name in "ek")
    entry, entry_keys, is_repeated = entries[0], keys[0], ""
    if len(entries) > 1:
        entry_keys = f"coalesce({', '.join(keys)})"
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
        _entry_case(fact, entry, entry_keys, f"{kind} <> 'NULL'", is_shown=not info.is_identifying),
        _case(f"{is_other_unit} AND ({unit}) IS NOT NULL", fact, _unit_text(info), None, unit),
        _case(f"{kind} <> 'NULL' AND ({typed}) IS NULL", fact, expected, None, shown),
    )
    sql_type = _SQL_TYPES[info.type]
    if fact == DEVICE_FACT:
        typed = f"coalesce({typed}, device)"
    return f"CAST({typed} AS {sql_type}) AS {quoted_name(fact)}", " ".join(cases)


def _entry_case(fact: str, entry: str, keys: str, is_known: str, *, is_shown: bool) -> str:
    """Return the SQL of the problems of the keys of an object with a fact."""
    is_entry = f"json_type({entry}) = 'OBJECT'"
    known = ", ".join(map(quoted_text, ENTRY_KEYS))
    is_unknown = f"json_type({entry}, '/unknown') <> 'NULL'"
    both = f"list_has_all({keys}, ['value', 'unknown']) AND {is_known} AND {is_unknown}"
    cases = (
        _case(_has_repeated(keys), fact, "a key in its object is repeated"),
        _case(
            f"NOT list_has_all([{known}], {keys})",
            fact,
            "unknown key in its object",
            f"the keys are {', '.join(map(repr, ENTRY_KEYS))}",
            f"array_to_string({keys}, ', ')" if is_shown else None,
        ),
        _case(
            f"NOT list_has_any(['value', 'unknown'], {keys}) OR ({both})",
            fact,
            "expected either 'value' or 'unknown' in its object",
        ),
    )
    found = f"(CASE WHEN {is_entry} THEN CASE {' '.join(cases)} END END)"
    return f"WHEN NOT {_is_usual(keys)} AND {found} IS NOT NULL THEN {found}"


def _is_usual(keys: str) -> str:
    """Return the SQL that is true for the keys of most objects with a fact, for speed."""
    pair = f"{keys}[2] = 'origin' AND {keys}[1] IN ('value', 'unknown')"
    three = f"{keys}[1] = 'value' AND {keys}[2] = 'unit' AND {keys}[3] = 'origin'"
    return f"coalesce(CASE len({keys}) WHEN 2 THEN {pair} WHEN 3 THEN {three} END, {keys} IS NULL)"


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
        f"CASE WHEN len(keys) <> list_count(e) THEN {_repeated('keys', ignored)} "
        f"WHEN {_has_repeated('beside')} THEN {_repeated('beside', ignored)} END"
    )


def _without_repeated(names: Sequence[str]) -> str:
    """Return the SQL of the entries of a line: of a key that is repeated, neither value counts."""
    keys = ", ".join(map(quoted_text, names))
    entry = "CASE WHEN list_contains(repeated, pair[2]) THEN NULL ELSE pair[1] END"
    every = f"list_transform(list_zip(e, [{keys}]), lambda pair: {entry})"
    return f"CASE WHEN repeated IS NULL THEN e ELSE {every} END" if names else "e"
