"""Files of usage records: JSON lines and Parquet, read into the same columns, with what is wrong in a row.

A record with a problem is counted, and nothing else is read of it. The rules are `UsageRecord.from_json`'s.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from etconfig.app.configuring.usage_record import DROPPED, DURATIONS, MAX_BYTES, REASONS, VERSION
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import FactError
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import JSON_LINES, PARQUET, InventorySource, find_sources
from etconfig.fleet.inventory.sql_names import quoted_name, quoted_path, quoted_text

_MAX_LINE_BYTES = 16 << 20
_OPTIONS = "STRUCT(path VARCHAR, value VARCHAR)[]"
COLUMNS: Mapping[str, str] = {
    "device": "VARCHAR",
    "moment": "BIGINT",
    "bundle": "VARCHAR",
    "revision": "BIGINT",
    "profile": "VARCHAR",
    "reason": "VARCHAR",
    "variant": "VARCHAR",
    "has_failed": "BOOLEAN",
    "has_all_options": "BOOLEAN",
    "options": _OPTIONS,
    **dict.fromkeys(DURATIONS, "DOUBLE"),
}
"""The columns of a record, with their types."""

_TEXTS, _COUNTS = ("device", "bundle", "profile", "model", "variant"), ("at", "revision")
_TEXT, _COUNT, _NUMBER = "a text that is not empty", "a whole number, 0 or more", "a number, 0 or more"
_INTEGERS = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "HUGEINT",
)
_FLOATS = (*_INTEGERS, "FLOAT", "DOUBLE", "DECIMAL")
_STRINGS = ("VARCHAR", "ENUM", "JSON")


def find_usage(texts: Sequence[str]) -> tuple[InventorySource, ...]:
    """Return the files of usage records that paths and patterns name, each once.

    Raises:
        FactError: some name no file, or a file of another kind.
    """
    sources = find_sources(texts)
    wrong = [each for each in sources if each.path.suffix.lower() not in (*PARQUET, *JSON_LINES)]
    if wrong:
        raise FactError(diagnostics=tuple(_unreadable(each, "it has no usage records") for each in wrong))
    return sources


def _unreadable(source: InventorySource, reason: str) -> Diagnostic:
    return Diagnostic(
        code="unreadable-file",
        message=f"cannot read {source.label}: {reason}",
        spans=(Span(file=source.label),),
        help="usage records are lines of JSON (.jsonl), or a .parquet file with their fields as columns",
    )


def usage_relation(database: Database, sources: Sequence[InventorySource], scratch: Path) -> str:
    """Return the SQL of all records: their columns, `file`, `row`, and `problem`, NULL if nothing is wrong.

    Args:
        database: The database.
        sources: The files.
        scratch: A directory for files of JSON lines that are converted.

    Raises:
        FactError: a file cannot be read, or its columns are wrong.
    """
    found, problems = [], []
    for number, source in enumerate(sources):
        try:
            with database.reading():
                if source.path.suffix.lower() in JSON_LINES:
                    rows = _converted(database, source.path, scratch / f"usage-{number}.parquet")
                else:
                    rows = _parquet_rows(database, source)
        except _WrongColumnError as error:
            problems.append(_unreadable(source, str(error)))
        except OSError as error:
            problems.append(_unreadable(source, str(error.strerror or error).partition("\n")[0]))
        else:
            found.append(f"SELECT {number} AS file, * FROM ({rows})")
    if problems:
        raise FactError(diagnostics=tuple(problems))
    return f"({' UNION ALL '.join(found)})"


# --- JSON lines -----------------------------------------------------------------------------


def _converted(database: Database, path: Path, target: Path) -> str:
    """Convert lines of JSON, and return the SQL of their rows."""
    with database.in_order():
        database.rows(f"COPY ({_json_rows(path)}) TO {quoted_text(os.fspath(target))} (FORMAT parquet)")
    return f"SELECT * FROM read_parquet({quoted_path(target)})"


def _json_rows(path: Path) -> str:
    read = (
        f"read_ndjson_objects({quoted_text(os.fspath(path))}, ignore_errors = true, "
        f"maximum_object_size = {_MAX_LINE_BYTES})"
    )
    value = {name: f"v[{place}]" for place, name in enumerate(_POINTERS, 1)}  # as JSON text
    pointers = ", ".join(quoted_text(f"/{name}") for name in _POINTERS)
    columns = {
        **{name: f"json_extract_string({value[name]}, '$')" for name in (*_TEXTS, "reason")},
        "moment": f"CAST({value['at']} AS BIGINT)",
        "revision": f"CAST({value['revision']} AS BIGINT)",
        "has_failed": f"{value['failure']} IS NOT NULL",
        "has_all_options": f"coalesce({value['left_out/options']} = '0', TRUE)",
        "options": f"list_transform(list_zip(json_extract_string({value['options']}, '$[*].path'), "
        f"{_items(value['options'], '$[*].value')}), lambda p: struct_pack(path := p[1], value := p[2]))",
        **{name: f"CAST({value[f'durations_us/{name}']} AS DOUBLE)" for name in DURATIONS},
    }
    selected = ", ".join(
        f"CASE WHEN problem IS NULL THEN CAST({columns[name]} AS {kind}) END AS {name}"
        for name, kind in COLUMNS.items()
    )
    problem = " ".join(f"WHEN {wrong} THEN {text}" for wrong, text in _json_problems(value))
    return (
        f"WITH lines AS (SELECT json, row_number() OVER () AS row FROM {read}), "
        f"extracted AS (SELECT *, CAST(json_extract(json, [{pointers}]) AS VARCHAR[]) AS v FROM lines), "
        f"judged AS (SELECT *, CASE {problem} END AS problem FROM extracted) "
        f"SELECT row, problem, {selected} FROM judged"
    )


def _json_problems(value: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the SQL of what may be wrong with a line, with the SQL of the text that says so."""
    version = value["etconfig_usage"]
    yield "json IS NULL OR json_type(json) <> 'OBJECT'", quoted_text("it is not a JSON object")
    too_long = quoted_text(f"it takes more than {MAX_BYTES:,} bytes")
    yield f"strlen(CAST(json AS VARCHAR)) >= {MAX_BYTES}", too_long
    keys = "json_keys(json)"
    yield f"len({keys}) <> len(list_distinct({keys}))", quoted_text("a key is repeated")
    yield f"{version} IS NULL", quoted_text("etconfig_usage is missing: it is not a usage record")
    yield f"{version} <> '{VERSION}'", _unknown_version(version)
    reasons = ", ".join(quoted_text(f'"{each}"') for each in REASONS)
    is_reason = f"coalesce({value['reason']} IN ({reasons}), FALSE)"
    yield f"NOT {is_reason}", _expected("reason", f"one of {', '.join(REASONS)}")
    for name in _TEXTS:
        yield _wrong(value[name], _IS_TEXT), _expected(name, _TEXT)
    for name in _COUNTS:
        yield _wrong(value[name], _IS_COUNT), _expected(name, _COUNT)
    yield _wrong(value["durations_us"], _IS_OBJECT), _expected("durations_us", "an object")
    for name in DURATIONS:
        each = f"durations_us/{name}"
        yield _wrong(value[each], _IS_NUMBER), _expected(each.replace("/", "."), _NUMBER)
    yield _wrong(value["durations_us/runs"], _IS_COUNT), _expected("durations_us.runs", _COUNT)
    rejected = _wrong_items(value["rejected"], {"variant": _IS_TEXT, "reason": _IS_TEXT})
    yield rejected, _expected("rejected", "a list of objects with variant and reason")
    options = _wrong_items(value["options"], {"path": _IS_TEXT, "source": _IS_TEXT, "value": "TRUE"})
    yield options, _expected("options", "a list of objects with path, value and source")
    facts = value["facts"]
    in_list = f"len(list_filter({_items('x', '$[*]')}, lambda y: NOT starts_with(y, '\"'))) > 0"
    is_fact = f"x <> 'null' AND x[1] <> '{{' AND NOT (x[1] = '[' AND {in_list})"
    are_facts = f"len(list_filter({_items(facts, '$.*')}, lambda x: NOT coalesce({is_fact}, FALSE))) = 0"
    yield f"{_wrong(facts, _IS_OBJECT)} OR NOT {are_facts}", _expected("facts", "an object with facts")
    failure = "x[1] = '\"' AND strlen(json_extract_string(x, '$')) <= 200"
    yield _wrong(value["failure"], failure), _expected("failure", "a text of at most 200 bytes")
    left = [_wrong(value[f"left_out/{each}"], _IS_COUNT) for each in DROPPED]
    wrong = " OR ".join([_wrong(value["left_out"], _IS_OBJECT), *left])
    yield wrong, _expected("left_out", "an object with numbers")


_POINTERS = (
    *(
        "etconfig_usage",
        "reason",
        *_TEXTS,
        *_COUNTS,
        "rejected",
        "options",
        "facts",
        "failure",
        "durations_us",
    ),
    *(f"durations_us/{name}" for name in (*DURATIONS, "runs")),
    *("left_out", *(f"left_out/{name}" for name in DROPPED)),
)
_IS_TEXT = "x[1] = '\"' AND x <> '\"\"'"
_IS_OBJECT = "x[1] = '{'"
_IS_COUNT = "regexp_full_match(x, '[0-9]{1,19}') AND TRY_CAST(x AS BIGINT) IS NOT NULL"
_IS_NUMBER = (
    "regexp_matches(x, '^-?[0-9]') AND TRY_CAST(x AS DOUBLE) >= 0 AND isfinite(TRY_CAST(x AS DOUBLE))"
)


def _wrong(value: str, is_right: str) -> str:
    """Return the SQL that is true if a value is there, and wrong; `x` stands for it in `is_right`."""
    named = re.sub(r"\bx\b", value, is_right)
    return f"({value} IS NOT NULL AND NOT coalesce({named}, FALSE))"


def _wrong_items(value: str, keys: Mapping[str, str]) -> str:
    """Return the SQL that is true if a value is there, and not a list of objects with these keys."""
    counts = (
        f"len(list_filter({_items(value, f'$[*].{key}')}, lambda x: {is_right})) = json_array_length({value})"
        for key, is_right in keys.items()
    )
    return f"({value} IS NOT NULL AND NOT coalesce({value}[1] = '[' AND {' AND '.join(counts)}, FALSE))"


def _items(value: str, path: str) -> str:
    return f"CAST(json_extract({value}, '{path}') AS VARCHAR[])"


def _expected(name: str, expected: str) -> str:
    return quoted_text(f"{name}: expected {expected}")


def _unknown_version(version: str) -> str:
    known = f"is not known; this etconfig reads {VERSION}"
    return f"'etconfig_usage: version ' || left({version}, 20) || ' {known}'"


# --- Parquet --------------------------------------------------------------------------------


class _WrongColumnError(Exception):
    """A column has a type that its field has not."""


def _parquet_rows(database: Database, source: InventorySource) -> str:
    """Return the SQL of the rows of a Parquet file, whose columns are the fields of records.

    Raises:
        _WrongColumnError: a column is missing, or has a wrong type.
    """
    relation = source.relation
    types = database.columns(relation)
    for name in ("etconfig_usage", "reason"):
        if name not in types:
            raise _WrongColumnError(f"it has no column {name}, so it has no usage records")
    known = {
        **dict.fromkeys((*_TEXTS, "reason", "failure"), _STRINGS),
        **dict.fromkeys(("etconfig_usage", *_COUNTS), _INTEGERS),
    }
    for name, kinds in known.items():
        _check_type(name, types, kinds)
    durations = _fields(database, relation, "durations_us", types, f"unnest({quoted_name('durations_us')})")
    left_out = _fields(database, relation, "left_out", types, f"unnest({quoted_name('left_out')})")
    for name in DURATIONS:
        _check_type(name, durations, _FLOATS)
    _check_type("options", left_out, _INTEGERS)
    each = {
        name: f"CAST({quoted_name(name)} AS {COLUMNS[name]})" if name in types else "NULL" for name in COLUMNS
    }
    each |= {
        name: f"CAST(durations_us.{name} AS DOUBLE)" if name in durations else "NULL" for name in DURATIONS
    }
    each["moment"] = quoted_name("at") if "at" in types else "NULL"
    each["has_failed"] = "failure IS NOT NULL" if "failure" in types else "FALSE"
    each["has_all_options"] = "coalesce(left_out.options = 0, TRUE)" if "options" in left_out else "TRUE"
    each["options"] = _parquet_options(database, relation, types)
    selected = ", ".join(f"CAST({sql} AS {COLUMNS[name]}) AS {name}" for name, sql in each.items())
    problem = " ".join(f"WHEN {wrong} THEN {text}" for wrong, text in _row_problems(types))
    rows = f"SELECT file_row_number, etconfig_usage, {selected} FROM {relation}"
    columns = ", ".join(COLUMNS)
    return f"SELECT file_row_number + 1 AS row, CASE {problem} END AS problem, {columns} FROM ({rows})"


def _row_problems(types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the SQL of what may be wrong with a row, with the SQL of the text that says so."""
    yield "etconfig_usage IS NULL", quoted_text("etconfig_usage is missing: it is not a usage record")
    yield f"etconfig_usage <> {VERSION}", _unknown_version("CAST(etconfig_usage AS VARCHAR)")
    reasons = ", ".join(map(quoted_text, REASONS))
    yield f"coalesce(reason NOT IN ({reasons}), TRUE)", _expected("reason", f"one of {', '.join(REASONS)}")
    for name in ("device", "bundle", "profile", "variant"):
        if name in types:
            yield f"{name} = ''", _expected(name, _TEXT)
    for name, column in (("at", "moment"), ("revision", "revision")):
        if name in types:
            yield f"{column} < 0", _expected(name, _COUNT)
    for name in DURATIONS:
        yield f"{name} < 0 OR NOT isfinite({name})", _expected(f"durations_us.{name}", _NUMBER)
    if "options" in types:
        yield (
            "len(list_filter(options, lambda x: x.path IS NULL OR x.value IS NULL)) > 0",
            _expected("options", "path and value"),
        )


def _check_type(name: str, types: Mapping[str, str], kinds: Sequence[str]) -> None:
    kind = types.get(name, kinds[0]).partition("(")[0]
    if kind not in kinds and kind != '"NULL"':
        raise _WrongColumnError(f"its column {name} is {types[name]}, but must be {' or '.join(kinds[:1])}")


def _fields(
    database: Database, relation: str, name: str, types: Mapping[str, str], sql: str
) -> dict[str, str]:
    """Return the fields of a column of structs, with their types; none if the column is missing.

    Raises:
        _WrongColumnError: it is not such a column.
    """
    if name not in types:
        return {}
    try:
        return database.columns(f"(SELECT {sql} FROM {relation})")
    except database.errors.Error as error:
        raise _WrongColumnError(f"its column {name} is {types[name]}, but must be a STRUCT") from error


def _parquet_options(database: Database, relation: str, types: Mapping[str, str]) -> str:
    if "options" not in types:
        return "NULL"
    try:
        fields = database.columns(f"(SELECT unnest(o) FROM (SELECT unnest(options) AS o FROM {relation}))")
    except database.errors.Error:
        fields = {}
    if fields.get("path") not in _STRINGS or "value" not in fields:
        raise _WrongColumnError(
            f"its column options is {types['options']}, but must be STRUCT(path VARCHAR, value JSON)[]"
        )
    value = "x.value" if fields["value"] in _STRINGS else "to_json(x.value)"
    return (
        f"list_transform(options, lambda x: struct_pack(path := x.path, value := CAST({value} AS VARCHAR)))"
    )
