"""Conversion of JSON to Parquet: lines of fact sheets or of plain values, and directories of sheets.

What is wrong in a row is kept in a column beside it, with the fact and the value; that becomes unknown.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Sequence
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

_FORMAT = 2
"""Changes with the columns of a converted file, so that an older one is not taken."""

_MAX_LINE_BYTES = 16 << 20
_BETWEEN = 31
"""The code of the character between the parts of a problem's text, which JSON does not show as itself."""

_KEY_IS_REPEATED = "its key is repeated"
_MAX_VALUE = 60
"""The characters that are kept of a wrong value."""
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
    key = json.dumps([__version__, _FORMAT, identity, registry.names, id_column, sorted(ignored)])
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
        for path in sheet_files(directory):
            name = path.relative_to(directory).with_suffix("").as_posix()
            file.write(_line_of_sheet(name, path.read_bytes()) + "\n")


def _line_of_sheet(name: str, data: bytes) -> str:
    """Return the text of a sheet in one line, in which a key may be repeated, with the name of its device."""
    try:
        text = data.decode("utf-8-sig")
        sheet = json.loads(text)
    except (ValueError, RecursionError):
        sheet = None
    if not isinstance(sheet, dict):
        return json.dumps([name])
    text = text.replace("\r", " ").replace("\n", " ").strip()  # line breaks of strings are escaped
    if DEVICE_COLUMN in sheet:
        return text
    comma = "," if sheet else ""
    return f'{{"{DEVICE_COLUMN}": {json.dumps(name)}{comma}{text[1:]}'


def sheet_files(directory: Path) -> list[Path]:
    """Return the fact sheets below a directory, in the order of their rows."""
    return sorted(directory.rglob("*.json"))


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
    entries_of: dict[str, list[str]] = {}
    for number, name in enumerate(names, 1):
        entries_of.setdefault(fact_of_column(name), []).append(f"e[{number}]")
    columns = [_column(fact, entries, registry) for fact, entries in entries_of.items()]
    devices = [_text_at(each, key) for key in device_keys for each in ("json", "facts")]
    every = [*names, *(row[0] for row in found if row[0] not in names)]  # all, for their number
    paths = ", ".join(quoted_text(_pointer(name)) for name in every)
    entries = f"json_extract(facts, [{paths}])" if every else "[]"
    not_an_object = _case("facts IS NULL", None, "the line is not a JSON object")
    problems = ", ".join(f"CASE {case} END" for case in (not_an_object, *(case for _, case in columns)))
    values = "".join(f", {value}" for value, _ in columns if value)
    database.rows("SET preserve_insertion_order = true")  # for the numbers of lines
    try:
        database.rows(
            f"COPY (WITH lines AS ({objects}, row_number() OVER () AS line FROM {read}), "
            f"extracted AS (SELECT line, json, facts, coalesce({', '.join(devices)}) AS device, "
            f"{entries} AS e FROM lines), "
            f"checked AS (SELECT *, {_REPEATED} AS repeated FROM extracted), "
            f"entries AS (SELECT * REPLACE ({_without_repeated(every)} AS e) FROM checked) "
            f"SELECT device AS {quoted_name(DEVICE_COLUMN if id_column is None else id_column)}, "
            f"line AS {quoted_name(LINE_COLUMN)}, "
            f"{_problems(problems)} AS {quoted_name(PROBLEM_COLUMN)}"
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


def _column(fact: str, entries: Sequence[str], registry: FactRegistry) -> tuple[str, str]:
    """Return the SQL of a column and of the problem of its value; no column if no fact has the name.

    Args:
        fact: The fact.
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
        return "", _case(f"{entry} IS NOT NULL", None, problem.message, problem.help, entry)
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


def _repeated(keys: str) -> str:
    """Return the SQL of the keys that are repeated."""
    found = f"list_filter({keys}, lambda key: len(list_filter({keys}, lambda other: other = key)) > 1)"
    return f"list_sort(list_distinct({found}))"


_REPEATED = (
    f"CASE WHEN len(json_keys(facts)) <> list_count(e) THEN {_repeated('json_keys(facts)')} "
    f"WHEN json_type(json, '/facts') = 'OBJECT' AND {_has_repeated('json_keys(json)')} "
    f"THEN {_repeated('json_keys(json)')} END"
)
"""The SQL of the keys of a line that are repeated, NULL if none is. Of two values, one was extracted."""


def _without_repeated(names: Sequence[str]) -> str:
    """Return the SQL of the entries of a line: of a key that is repeated, neither value counts."""
    keys = ", ".join(map(quoted_text, names))
    entry = "CASE WHEN list_contains(repeated, pair[2]) THEN NULL ELSE pair[1] END"
    every = f"list_transform(list_zip(e, [{keys}]), lambda pair: {entry})"
    return f"CASE WHEN repeated IS NULL THEN e ELSE {every} END" if names else "e"
