"""Conversion of lines of JSON by DuckDB: every value is read with its fact, and a wrong one becomes unknown.

A line is parsed a fixed number of times, and every call of a function of JSON gets the keys of all facts or
a list of all values, since each such call takes memory of its own. Of most lines, a comparison of their keys
shows that nothing is wrong; what is wrong in the others is found fact by fact.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from etconfig.base.records import record
from etconfig.facts.registry import FactInfo, FactRegistry
from etconfig.facts.sheet_json import SHEET_VERSION
from etconfig.fleet.inventory.columns import (
    DEVICE_COLUMN,
    DEVICE_FACT,
    ID_COLUMNS,
    LINE_COLUMN,
    PROBLEM_COLUMN,
    SHEET_KEYS,
    check_count,
)
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.json_problems import JsonKey, problems_of_line, repeated_keys
from etconfig.fleet.inventory.json_values import SQL_TYPES, plain_text, typed_value
from etconfig.fleet.inventory.sql_names import fact_of_column, quoted_name, quoted_text

MAX_LINE_BYTES = 16 << 20
"""The longest line; a longer one is an error."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""The mark that some programs write at the start of a file in UTF-8."""

_SAMPLED_LINES = 5_000
"""The lines whose keys are looked at first; if others have further keys, the keys of all lines are."""

_FURTHER_KEYS = "a line has further keys"
_VERSION = SHEET_KEYS[0]
_IS_SHEET = (
    "CASE WHEN len(keys_of[2]) > 0 THEN TRUE WHEN list_contains(keys_of[1], 'facts') "
    "THEN coalesce(json_type(json, '/facts') = 'OBJECT', FALSE) ELSE FALSE END"
)
_UNITS = (
    "CASE len(k) WHEN 1 THEN CASE WHEN k[1] IN ('value', 'unknown') THEN 0 ELSE 1000 END "
    "WHEN 2 THEN CASE WHEN k[2] = 'origin' AND k[1] IN ('value', 'unknown') THEN 0 "
    "WHEN k[1] = 'value' AND k[2] = 'unit' THEN 1 ELSE 1000 END "
    "WHEN 3 THEN CASE WHEN k[1] = 'value' AND k[2] = 'unit' AND k[3] = 'origin' THEN 1 ELSE 1000 END "
    "ELSE 1000 END"
)
"""The number of units in an object with a fact, by its keys; very many if they may be wrong."""


def convert_lines(
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
    read = (
        f"read_ndjson_objects({quoted_text(os.fspath(path))}, ignore_errors = true, "
        f"maximum_object_size = {MAX_LINE_BYTES})"
    )
    with _in_order(database, path):
        for lines in (f"(FROM {read} LIMIT {_SAMPLED_LINES})", read):
            conversion = _Conversion(_found_keys(database, lines), registry, id_column, ignored)
            try:
                database.rows(
                    f"COPY ({conversion.sql(read)}) TO {quoted_text(os.fspath(target))} "
                    "(FORMAT parquet, COMPRESSION zstd)"
                )
                return
            except database.errors.InvalidInputException as error:
                if lines == read or _FURTHER_KEYS not in str(error):
                    raise


@record(frozen=True)
class FoundKeys:
    """The keys of all lines of a file, each sorted.

    Attributes:
        in_sheets: Those below the key `facts` of sheets.
        beside: Those beside it.
        in_lines: Those of lines that are not sheets.
    """

    in_sheets: Sequence[str]
    beside: Sequence[str]
    in_lines: Sequence[str]


def _found_keys(database: Database, lines: str) -> FoundKeys:
    rows = database.rows(
        f"SELECT DISTINCT {_IS_SHEET}, unnest(keys_of[1]), unnest(keys_of[2]) "
        f"FROM (SELECT json, {_keys_of([])} AS keys_of FROM {lines})"
    )
    groups = (
        {inside for is_sheet, _, inside in rows if is_sheet},
        {top for is_sheet, top, _ in rows if is_sheet},
        {top for is_sheet, top, _ in rows if not is_sheet},
    )
    return FoundKeys(*(sorted(group - {None}) for group in groups))


def _keys_of(pointers: Sequence[str]) -> str:
    """Return the SQL of the keys of a line, below its key `facts`, and of what is at further places.

    They are NULL where nothing is, and empty for a value that is not an object.
    """
    return f"json_keys(json, {_texts(['', '/facts', *pointers])})"


class _Conversion:
    """The SQL that converts the lines of one file.

    Args:
        found: The keys of its lines.
        registry: The facts.
        id_column: The key that names the devices.
        ignored: Keys to leave out.

    Raises:
        UnusableInventoryError: there are too many keys.
    """

    def __init__(
        self, found: FoundKeys, registry: FactRegistry, id_column: str | None, ignored: Collection[str]
    ) -> None:
        self._found = found
        self._registry = registry
        self._ignored = ignored
        self._device_column = DEVICE_COLUMN if id_column is None else id_column
        self._device_keys = ID_COLUMNS if id_column is None else (id_column, *ID_COLUMNS)
        facts = sorted({*found.in_sheets, *found.in_lines})
        check_count(len({*facts, *found.beside}), "different keys in its lines")
        read = [key for key in facts if key not in (*SHEET_KEYS, *ignored)]
        names = [key for key in read if key not in self._device_keys or self._info(key) is not None]
        self._known = [key for key in names if self._info(key) is not None]
        unknown = [key for key in names if self._info(key) is None]
        self._names = [*self._known, *unknown]
        wrong = [*unknown, *(key for key in SHEET_KEYS[1:] if key in facts and key not in ignored)]
        self._every = [*self._known, *wrong, *(key for key in facts if key not in (*self._known, *wrong))]
        self._wrong = len(wrong)
        self._places: dict[str, list[int]] = {}  # of the keys of each fact among all: it has two spellings
        for place, name in enumerate(self._names, 1):
            self._places.setdefault(fact_of_column(name), []).append(place)
        self._units = [key for key in self._known if self._unit(key) is not None]

    def _info(self, key: str) -> FactInfo | None:
        return self._registry.get(fact_of_column(key))

    def _unit(self, key: str) -> str | None:
        info = self._info(key)
        return None if info is None else info.unit

    def sql(self, read: str) -> str:
        """Return the query for the rows of the converted file."""
        device = quoted_name(self._device_column)
        facts = [fact for fact in sorted(self._places) if self._registry.get(fact) is not None]
        numbered = [*enumerate(facts)]
        raw = "".join(f", {self._value(fact, 'plain')} AS v{number}" for number, fact in numbered)
        typed = "".join(f", {self._typed(fact, f'v{number}')} AS t{number}" for number, fact in numbered)
        wrong = " OR ".join(f"(v{number} <> 'null' AND t{number} IS NULL)" for number, _ in numbered)
        columns = "".join(f", {self._column(fact, f't{n}')} AS {quoted_name(fact)}" for n, fact in numbered)
        problems = problems_of_line(self._json_keys(), self._beside(), self._registry, self._ignored)
        stages = {
            "lines": f"SELECT json, {self._keys()} AS keys_of, row_number() OVER () AS line FROM {read}",
            "kinds": f"SELECT *, {_IS_SHEET} AS is_sheet FROM lines",
            "extracted": "SELECT *, CASE WHEN is_sheet THEN keys_of[2] ELSE keys_of[1] END AS keys, "
            f"{self._parts()} AS parts FROM kinds",
            "checked": f"SELECT *, coalesce({self._is_usual()}, FALSE) AS is_usual FROM extracted",
            "repeated": f"SELECT *, CASE WHEN NOT is_usual THEN {self._repeated()} END AS repeated "
            "FROM checked",
            "entries": f"SELECT *, CASE WHEN NOT is_usual THEN {self._entries()} END AS entries "
            "FROM repeated",
            "values": f"SELECT *, {self._values()} AS found FROM entries",
            "texts": "SELECT *, CASE WHEN contains(json, '\\') THEN "
            f"list_transform(found, lambda t: {plain_text('t')}) ELSE found END AS plain FROM values",
            "plain": f"SELECT *{raw} FROM texts",
            "typed": f"SELECT *, {self._device()} AS device{typed} FROM plain",
            "judged": f"SELECT *, is_usual AND NOT coalesce({wrong or 'FALSE'}, FALSE) AS is_right "
            "FROM typed",
            "whole": f"SELECT *, CASE WHEN NOT is_right THEN coalesce(entries, {self._entries()}) END AS e "
            "FROM judged",
        }
        before = ", ".join(f"{name} AS ({query})" for name, query in stages.items())
        return (
            f"WITH {before} SELECT device AS {device}, line AS {quoted_name(LINE_COLUMN)}, "
            f"{problems} AS {quoted_name(PROBLEM_COLUMN)}{columns} FROM whole"
        )

    def _json_keys(self) -> list[JsonKey]:
        """Return the keys of facts, sorted by fact, for the problems of their values."""
        return [
            JsonKey(
                key=self._names[places[-1] - 1],
                fact=fact,
                places=tuple(places),
                info=self._registry.get(fact),
            )
            for fact, places in sorted(self._places.items())
        ]

    def _beside(self) -> list[JsonKey]:
        """Return the keys beside the key `facts` of sheets that must not be there."""
        allowed = (*SHEET_KEYS, *self._device_keys, *self._ignored)
        return [
            JsonKey(key=key, fact=fact_of_column(key), places=(), info=self._info(key))
            for key in self._found.beside
            if key not in allowed
        ]

    def _by_kind(self, of_sheets: str, of_lines: str) -> str:
        """Return SQL for sheets and other lines; without a choice, if the file has lines of one kind."""
        if not self._found.beside:
            return of_lines
        if not self._found.in_lines:
            return of_sheets
        return f"CASE WHEN is_sheet THEN {of_sheets} ELSE {of_lines} END"

    @property
    def _beside_facts(self) -> list[str]:
        """The keys that may be beside the key `facts` of a sheet."""
        allowed = {_VERSION, *self._device_keys, *self._ignored} - {SHEET_KEYS[1]}
        return sorted(allowed.intersection(self._found.beside))

    def _keys(self) -> str:
        inside = [f"/facts{_pointer(key)}" for key in self._every]
        return _keys_of([*map(_pointer, self._beside_facts), *inside] if self._found.beside else [])

    @property
    def _devices(self) -> list[str]:
        """The pointers to what may name a device in a sheet, the first one that does first."""
        return [start + _pointer(key) for key in self._device_keys for start in ("", "/facts")]

    def _parts(self) -> str:
        """Return the SQL of the values of facts, what may name the device, the version, and more.

        Of sheets, these are the units. In other lines, an object may stand for a value, and all further
        keys follow, for their number.
        """
        version = _pointer(_VERSION)
        in_sheets = [
            *(f"/facts{_pointer(key)}/value" for key in self._known),
            *(*self._devices, version),
            *(f"/facts{_pointer(key)}/unit" for key in self._units),
        ]
        known = [_pointer(key) for key in self._every[: len(self._known)]]
        devices = [path.removeprefix("/facts") for path in self._devices]
        in_lines = [*known, *devices, version, *map(_pointer, self._every[len(self._known) :])]
        extracted = (
            f"CAST(json_extract(json, {_texts(each)}) AS VARCHAR[])" for each in (in_sheets, in_lines)
        )
        return self._by_kind(*extracted)

    def _is_usual(self) -> str:
        """Return the SQL that is true if nothing is wrong with the keys of a line."""
        known, wrong, devices = len(self._known), self._wrong, len(self._devices)
        further = known + devices + 2
        both = ["len(keys) > 0"]
        if _VERSION not in self._ignored:
            both.append(f"coalesce(parts[{further - 1}] IN ('null', '{SHEET_VERSION}'), TRUE)")
        before = len(self._beside_facts) + 2
        units = ", ".join(quoted_text(json.dumps(self._unit(key))) for key in self._units)
        number = (
            f"list_sum(list_transform(keys_of, lambda k, i: CASE WHEN k IS NULL OR i <= {before} THEN 0 "
            f"WHEN i <= {before + known} THEN {_UNITS} WHEN i <= {before + known + wrong} THEN 1000 "
            "ELSE 0 END))"
        )
        in_sheets = [
            *("is_sheet", *both),
            "len(keys_of[1]) + len(keys_of[2]) + 1 = list_count(keys_of)",  # none is repeated, or another one
            f"{number} = len(list_filter(parts[{further}:], lambda u, i: u = ([{units}]::VARCHAR[])[i]))",
            *self._named_once("keys_of", before),
        ]
        in_lines = [
            *("NOT is_sheet", *both),
            f"len(keys) = list_count(parts) - list_count(parts[{known + 1}:{further - 1}])",
            f"list_count(parts[{further}:{further + wrong - 1}]) = 0",
            f"len(list_filter(parts[:{known}], lambda t: starts_with(t, '{{'))) = 0",
            *self._named_once("parts", 0),
        ]
        return self._by_kind(" AND ".join(in_sheets), " AND ".join(in_lines))

    def _named_once(self, lists: str, before: int) -> Iterator[str]:
        """Yield the SQL that is true if a line has one of the keys of a fact at most."""
        for places in self._places.values():
            if len(places) > 1 and places[0] <= len(self._known):
                yield f"({_number(lists, [before + place for place in places])}) < 2"

    def _repeated(self) -> str:
        """Return the SQL of the keys of a line that are repeated.

        A key that the sampled lines lack ends the query.
        """
        found = self._found
        beside = f"list_has_all({_texts(found.beside)}, keys_of[1])"
        in_sheets = f"{beside} AND list_has_all({_texts(found.in_sheets)}, keys)"
        in_lines = f"list_has_all({_texts(found.in_lines)}, keys)"
        return (
            f"CASE WHEN NOT CASE WHEN is_sheet THEN {in_sheets} ELSE {in_lines} END "
            f"THEN error('{_FURTHER_KEYS}') ELSE {repeated_keys(self._ignored)} END"
        )

    def _entries(self) -> str:
        """Return the SQL of what each key has: of a key that is repeated, neither value counts."""
        paths = [_pointer(key) for key in self._names]
        of_lines, of_sheets = (
            f"CAST(json_extract(json, {_texts([start + path for path in paths])}) AS VARCHAR[])"
            for start in ("", "/facts")
        )
        extracted = self._by_kind(of_sheets, of_lines)
        pairs = f"list_zip({extracted}, {_texts(self._names)})"
        kept = f"list_transform({pairs}, lambda p: CASE WHEN NOT list_contains(repeated, p[2]) THEN p[1] END)"
        return f"CASE WHEN repeated IS NULL THEN {extracted} ELSE {kept} END"

    def _values(self) -> str:
        """Return the SQL of the value of each key of a fact."""
        known = len(self._known)
        value = "CASE WHEN starts_with(t, '{') THEN CAST(json_extract(t, '/value') AS VARCHAR) ELSE t END"
        return f"CASE WHEN is_usual THEN parts ELSE list_transform(entries[:{known}], lambda t: {value}) END"

    def _value(self, fact: str, values: str) -> str:
        places = self._places[fact]
        if len(places) == 1:
            return f"{values}[{places[0]}]"
        several = ", ".join(f"{values}[{place}]" for place in places)
        return f"CASE WHEN ({_number('entries', places)}) < 2 THEN coalesce({several}) END"

    def _typed(self, fact: str, value: str) -> str:
        info = self._registry.get(fact)
        assert info is not None
        return typed_value(info.type, value)

    def _column(self, fact: str, value: str) -> str:
        info = self._registry.get(fact)
        assert info is not None
        typed = f"coalesce({value}, device)" if fact == DEVICE_FACT else value
        return f"CAST({typed} AS {SQL_TYPES[info.type]})"

    def _device(self) -> str:
        """Return the SQL of the name of a device: the first that is a plain value."""
        first = len(self._known) + 1
        given = f"parts[{first}:{first + len(self._devices) - 1}]"
        value = "CASE WHEN starts_with(t, '{') THEN CAST(json_extract(t, '/value') AS VARCHAR) ELSE t END"
        plain = (
            f"list_filter(list_transform({given}, lambda t: {value}), lambda t: "
            "coalesce(t <> 'null' AND NOT starts_with(t, '{') AND NOT starts_with(t, '['), FALSE))[1]"
        )
        return f"json_extract_string({plain}, '$')"


@contextmanager
def _in_order(database: Database, path: Path) -> Iterator[None]:
    """Let DuckDB number lines as they stand in a file. Only one thread of it skips a mark at the start."""
    (threads,) = database.rows("SELECT current_setting('threads')")[0]
    with path.open("rb") as file:
        is_marked = file.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK
    with database.in_order():
        try:
            if is_marked:
                database.rows("SET threads = 1")
            yield
        finally:
            database.rows(f"SET threads = {threads}")


def _pointer(key: str) -> str:
    """Return the JSON pointer to a key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _texts(texts: Sequence[str]) -> str:
    """Return texts as a list in SQL."""
    return f"[{', '.join(map(quoted_text, texts))}]::VARCHAR[]"


def _number(lists: str, places: Sequence[int]) -> str:
    """Return the SQL of how many of some values of a list there are."""
    return " + ".join(f"CAST({lists}[{place}] IS NOT NULL AS INT)" for place in places)
