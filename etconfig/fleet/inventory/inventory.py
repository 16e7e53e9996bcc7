"""`Inventory`: the devices of a fleet, in files or tables with a column for each fact."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import FactError
from etconfig.fleet.inventory.columns import (
    ID_COLUMNS,
    LINE_COLUMN,
    NOT_A_SHEET,
    NOT_AN_OBJECT,
    PROBLEM_COLUMN,
    FactColumn,
    UnusableInventoryError,
    check_count,
    fact_columns,
    find_id_column,
    is_mistyped,
)
from etconfig.fleet.inventory.database import (
    DEFAULT_MEMORY,
    Database,
    OnProgress,
    followed,
    opened_database,
)
from etconfig.fleet.inventory.sql_names import quoted_name, quoted_path, quoted_text, shell_word
from etconfig.profile.directory import files_below, is_hidden

if TYPE_CHECKING:
    from etconfig.facts.registry import FactRegistry

PARQUET, JSON_LINES, DATABASE = (".parquet", ".pq"), (".jsonl", ".ndjson"), (".duckdb", ".db", ".ddb")
_MAX_PROBLEMS = 1000


@record(frozen=True, kw_only=True)
class InventorySource:
    """A file that contains devices, before it is opened.

    Attributes:
        path: The file, or a directory of sheets.
        label: The file as the user knows it.
        table: The table of a DuckDB database; None for other files.
        stored: The Parquet file that is read in its place, if it was converted.
    """

    path: Path
    label: str
    table: str | None = None
    stored: Path | None = None

    @property
    def identity(self) -> str:
        """A text that changes when the file does."""
        return file_identity(self.path, self.table or "")

    @property
    def files(self) -> list[Path]:
        """The files that are read: itself, or the sheets of a directory in the order of their rows."""
        return sorted(self.path.rglob("*.json")) if self.path.is_dir() else [self.path]

    @property
    def relation(self) -> str:
        """The devices, in a FROM of SQL."""
        if self.table is not None:
            return f"inventory.main.{quoted_name(self.table)}"
        return f"read_parquet({quoted_path(self.stored or self.path)}, file_row_number = true)"

    def attach(self, database: Database) -> None:
        """Make `relation` readable."""
        if self.table is not None:
            database.rows("DETACH DATABASE IF EXISTS inventory")
            database.rows(f"ATTACH {quoted_text(str(self.path))} AS inventory (READ_ONLY)")

    def check_table(self, database: Database) -> None:
        """Check that `relation` is a table: a view is a query of strangers, which may read any file.

        Raises:
            OSError: it is not.
        """
        if self.table is None:
            return
        names = _table_names(database)
        if self.table not in names:
            others = f"; its tables: {', '.join(map(shell_word, names))}" if names else ""
            raise OSError(f"{shell_word(self.table)} is not a table of it{others}; a view is not read")


def _table_names(database: Database) -> list[str]:
    """Return the tables of the attached database, without its views."""
    sql = (
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'inventory' AND schema_name = 'main' "
        "ORDER BY ALL"
    )
    return [str(row[0]) for row in database.rows(sql)]


@record(frozen=True, kw_only=True)
class InventoryPart:
    """The devices of one file.

    Attributes:
        source: The file.
        id_column: The column that names the devices.
        facts: The columns of facts, by fact.
        has_problems: True if the file was converted, and a column says what was wrong in a row.
        rows: The number of rows.
    """

    source: InventorySource
    id_column: str
    facts: Mapping[str, FactColumn]
    has_problems: bool
    rows: int

    @property
    def device(self) -> str:
        """The name of a device, in SQL; NULL if it is empty or blank."""
        text = f"CAST({quoted_name(self.id_column)} AS VARCHAR)"
        is_plain = f"{text} >= '!'"  # the first character after the blank: nothing to trim, which is slow
        blanks = "chr(32) || chr(9) || chr(10) || chr(13)"
        return f"(CASE WHEN {is_plain} OR trim({text}, {blanks}) <> '' THEN {text} END)"

    @property
    def row(self) -> str:
        """The number of a row, from 1, in SQL."""
        if self.has_problems:
            return quoted_name(LINE_COLUMN)
        return "rowid + 1" if self.source.table is not None else "file_row_number + 1"

    @property
    def is_broken(self) -> str:
        """The SQL that is true for a line that is not a JSON object."""
        if not self.has_problems:
            return "FALSE"
        problems = f"list_transform({quoted_name(PROBLEM_COLUMN)}, lambda p: p.problem)"
        return f"({self.device} IS NULL AND list_contains({problems}, {quoted_text(NOT_AN_OBJECT)}))"

    @property
    def broken_problem(self) -> str:
        """The problem of such a line; of a directory, a line is a sheet."""
        return NOT_A_SHEET if self.source.path.is_dir() else NOT_AN_OBJECT


def file_identity(path: Path, further: str = "") -> str:
    """Return a hash of the place, size and time of a file, or of the files of a directory."""
    found = sorted(files_below(path, ".json").files) if path.is_dir() else [path]
    stats = ((each, each.stat()) for each in found)
    parts = [f"{os.path.realpath(each)}\0{stat.st_size}\0{stat.st_mtime_ns}" for each, stat in stats]
    return hashlib.sha256("\n".join([*parts, further]).encode(errors="surrogateescape")).hexdigest()[:16]


def find_sources(texts: Sequence[str], table: str | None = None) -> tuple[InventorySource, ...]:
    """Return the files that paths and patterns name, each once.

    Args:
        texts: Files, directories of Parquet files or of sheets, or patterns such as `fleet/*.parquet`.
        table: The table of a DuckDB database.

    Raises:
        FactError: some name no file, or a file of another kind.
    """
    found: list[InventorySource] = []
    problems: list[Diagnostic] = []
    for text in texts:
        paths = _paths(text)
        if not paths:
            problems.append(
                cannot_read(text or "''", "there is no such file", "give files, directories or patterns")
            )
        for path in paths:
            suffix = path.suffix.lower()
            if path.is_dir() or suffix in (*PARQUET, *JSON_LINES):
                found.append(InventorySource(path=path, label=str(path)))
            elif suffix in DATABASE:
                found.append(InventorySource(path=path, label=str(path), table=table or ""))
            else:
                kinds = ", ".join((*PARQUET[:1], *JSON_LINES[:1], *DATABASE[:1]))
                help = f"an inventory is a {kinds} file, or a directory of them or of fact sheets"
                problems.append(
                    cannot_read(str(path), f"it is not an inventory: {suffix or 'no suffix'}", help)
                )
    if problems:
        raise FactError(diagnostics=tuple(problems))
    return tuple({os.path.realpath(each.path): each for each in found}.values())


def _paths(text: str) -> list[Path]:
    path = Path(text)
    if text and path.is_dir():
        kinds = (*PARQUET, *JSON_LINES)
        visible = (each for each in path.iterdir() if not is_hidden(each.name))
        inside = sorted(each for each in visible if each.suffix.lower() in kinds)
        return inside or [path]
    if text and path.exists():
        return [path]
    return sorted(map(Path, glob.glob(text, recursive=True)))  # noqa: PTH207  (absolute patterns, too)


def cannot_read(label: str, reason: str, help: str) -> Diagnostic:
    """Return the diagnostic of a file that cannot be read."""
    return Diagnostic(
        code="unreadable-file", message=f"cannot read {label}: {reason}", spans=(Span(file=label),), help=help
    )


def _reason(error: OSError, source: InventorySource) -> str:
    """Return why a file cannot be read, with the name of another file that is the cause."""
    if error.strerror is None:
        return str(error).partition("\n")[0]
    is_itself = error.filename in (None, os.fspath(source.path))
    return error.strerror if is_itself else f"{error.filename}: {error.strerror}"


class InventoryOpener:
    """Opens files of inventories: finds their columns, and converts what is not Parquet.

    Attributes:
        problems: The problems of columns found so far.

    Args:
        database: The database that reads them.
        registry: The facts.
        id_column: The column that names the devices; None for `device_id` or `device.id`.
        ignored: Columns to leave out.
        cache: The directory for converted files; None for one beside each file.
    """

    def __init__(
        self,
        database: Database,
        registry: FactRegistry,
        *,
        id_column: str | None = None,
        ignored: Collection[str] = (),
        cache: Path | None = None,
    ) -> None:
        self.problems: list[Diagnostic] = []
        self._database = database
        self._registry = registry
        self._id_column = id_column
        self._ignored = ignored
        self._cache = cache

    def open(self, source: InventorySource) -> InventoryPart | None:
        """Return the devices of a file, or None if `problems` has gained why not."""
        try:
            with self._database.reading():
                return self._opened(self._prepared(source))
        except UnusableInventoryError as error:
            self._report(cannot_read(source.label, str(error), error.help))
        except OSError as error:
            reason = _reason(error, source)
            self._report(cannot_read(source.label, reason, "check that the file is whole and can be read"))
        return None

    def _prepared(self, source: InventorySource) -> InventorySource:
        if source.table is not None:
            return replace(source, table=source.table or self._only_table(source))
        if source.path.is_dir() or source.path.suffix.lower() in JSON_LINES:
            from etconfig.fleet.inventory.conversion import converted

            stored = converted(
                self._database,
                source.path,
                source.identity,
                self._registry,
                id_column=self._id_column,
                ignored=self._ignored,
                cache=self._cache,
            )
            return replace(source, stored=stored)
        return source

    def _only_table(self, source: InventorySource) -> str:
        source.attach(self._database)
        names = _table_names(self._database)
        if len(names) == 1:
            return names[0]
        if not names:
            raise OSError("it has no table")
        raise OSError(f"name one of its tables with --table: {', '.join(map(shell_word, names))}")

    def _opened(self, source: InventorySource) -> InventoryPart | None:
        source.attach(self._database)
        source.check_table(self._database)
        check_count(self._column_count(source), "columns")
        columns = self._database.columns(source.relation)
        columns.pop("file_row_number", None)
        id_column = find_id_column(columns, self._id_column)
        if id_column is None:
            wanted = self._id_column or ID_COLUMNS[0]
            message = f"{source.label} has no column {wanted!r}, which names the devices"
            help = "name the column that does with --id"
            self._report(Diagnostic(code="invalid-fact-sheet", message=message, help=help))
            return None
        mistaken = self._without_empty(source, columns)
        facts, problems = fact_columns(mistaken, id_column, self._registry, source.label, self._ignored)
        for problem in problems:
            self._report(problem)
        (rows,) = self._database.rows(f"SELECT count(*) FROM {source.relation}")[0]
        return InventoryPart(
            source=source,
            id_column=id_column,
            facts=facts,
            has_problems=PROBLEM_COLUMN in columns,
            rows=rows,
        )

    def _column_count(self, source: InventorySource) -> int:
        """Return the number of columns, without the time that their types would take."""
        sql = f"SELECT num_children FROM parquet_schema({quoted_path(source.stored or source.path)}) LIMIT 1"
        if source.table is not None:
            sql = (
                "SELECT count(*) FROM duckdb_columns() WHERE database_name = 'inventory' "
                f"AND table_name = {quoted_text(source.table)}"
            )
        return int(self._database.rows(sql)[0][0])

    def _without_empty(self, source: InventorySource, columns: Mapping[str, str]) -> dict[str, str]:
        """Return the columns without columns of facts whose type is wrong, but that have no value at all."""
        wrong = [name for name, type_ in columns.items() if is_mistyped(name, type_, self._registry)]
        if not wrong:
            return dict(columns)
        counts = ", ".join(f"count({quoted_name(name)})" for name in wrong)
        row = self._database.rows(f"SELECT {counts} FROM {source.relation}")[0]
        empty = {name for name, count in zip(wrong, row, strict=True) if count == 0}
        return {name: type_ for name, type_ in columns.items() if name not in empty}

    def _report(self, problem: Diagnostic) -> None:
        if len(self.problems) < _MAX_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def open_all(self, sources: Sequence[InventorySource]) -> Iterator[InventoryPart]:
        """Yield the devices of each file.

        Raises:
            FactError: with the problems of the columns of all files, after the last one.
        """
        for source in sources:
            part = self.open(source)
            if part is not None and not self.problems:
                yield part
        if self.problems:
            raise FactError(diagnostics=tuple(self.problems))


@record(frozen=True, kw_only=True)
class InventoryReading:
    """The way to read inventories.

    Attributes:
        id_column: The column that names the devices; None for `device_id` or `device.id`.
        ignored: Columns to leave out.
        cache: The directory for converted files; None for one beside each file.
        memory: The memory for DuckDB; of workers, for each task.
        threads: The threads; by default one for each core, of workers one for each task.
    """

    id_column: str | None = None
    ignored: Sequence[str] = ()
    cache: Path | None = None
    memory: str = DEFAULT_MEMORY
    threads: int | None = None

    def to_jsonable(self) -> dict[str, Any]:
        """Return it as plain data, for workers."""
        return {
            "id_column": self.id_column,
            "ignored": sorted(self.ignored),
            "cache": None if self.cache is None else os.path.abspath(self.cache),  # noqa: PTH100
            "memory": self.memory,
            "threads": self.threads or 1,
        }

    @classmethod
    def from_jsonable(cls, data: Mapping[str, Any]) -> InventoryReading:
        """Do the reverse of `to_jsonable`."""
        return cls(**{**data, "cache": None if data["cache"] is None else Path(data["cache"])})

    @contextmanager
    def database(self, on_progress: OnProgress | None = None) -> Iterator[Database]:
        """Open a database that reads them.

        Raises:
            OSError: a file cannot be read or written, or the memory does not suffice.
        """
        with (
            opened_database(self.memory, self.threads) as database,
            database.reading(),
            followed(database, on_progress),
        ):
            yield database

    def opener(self, database: Database, registry: FactRegistry) -> InventoryOpener:
        """Return the opener of their files."""
        return InventoryOpener(
            database, registry, id_column=self.id_column, ignored=self.ignored, cache=self.cache
        )
