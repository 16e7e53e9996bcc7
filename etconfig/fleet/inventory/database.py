"""Connections to DuckDB, the engine of fleets, which comes with the extra `fleet`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

from etconfig.fleet.inventory.sql_names import quoted_text

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DEFAULT_MEMORY = "1GiB"
"""The memory that DuckDB may use; beyond it, it writes to the disk. The process takes some more."""

OnProgress: TypeAlias = Callable[[float | None], None]
"""Called with the percentage of the running query that is done, and at the end with None."""

_LOOK_EVERY_S = 0.3

_INTERRUPTED = "interrupted"
"""A word of DuckDB's errors after Ctrl-C, which are of more than one class."""


def is_installed() -> bool:
    """Return True if DuckDB is installed."""
    from importlib.util import find_spec

    return find_spec("duckdb") is not None


class Database:
    """A connection to DuckDB in memory, without access to the network.

    Attributes:
        connection: The connection of the package `duckdb`.
        errors: That package, with its errors.

    Args:
        memory: The memory that DuckDB may use, such as `512MiB`.
        threads: The number of threads; None for all cores.
        directory: Where DuckDB writes what exceeds that memory.

    Raises:
        ValueError: `memory` is not an amount of memory.
    """

    def __init__(self, memory: str, threads: int | None, directory: Path) -> None:
        import duckdb

        settings: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "preserve_insertion_order": "false",
            "temp_directory": str(directory),
        }
        if threads is not None:
            settings["threads"] = threads
        self.errors = duckdb
        self.connection: DuckDBPyConnection = duckdb.connect(config=settings)
        self.connection.execute("SET enable_progress_bar = false")  # notebooks would show one for each query
        try:
            self.connection.execute(f"SET memory_limit = {quoted_text(memory)}")
        except duckdb.Error as error:
            raise ValueError(f"{memory!r} is not an amount of memory, such as 512MiB or 2GiB") from error

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a query and return its rows.

        Raises:
            KeyboardInterrupt: the user interrupts it.
        """
        try:
            found: list[tuple[Any, ...]] = self.connection.execute(sql, parameters or None).fetchall()
        except (RuntimeError, self.errors.InterruptException) as error:
            if _INTERRUPTED in str(error).lower():
                raise KeyboardInterrupt from None
            raise
        return found

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """Let queries write the rows of files in their order, which takes more memory."""
        self.rows("SET preserve_insertion_order = true")
        try:
            yield
        finally:
            self.rows("SET preserve_insertion_order = false")

    @property
    def memory_bytes(self) -> int:
        """The memory that DuckDB may use."""
        number, unit = str(self.rows("SELECT current_setting('memory_limit')")[0][0]).split()
        return int(float(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB").index(unit))

    def columns(self, relation: str) -> dict[str, str]:
        """Return the columns of a relation, with their types."""
        return {row[0]: row[1] for row in self.rows(f"DESCRIBE SELECT * FROM {relation}")}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn the errors of DuckDB about files and memory into an OSError with their first line.

        Raises:
            OSError: a file cannot be read or written, or there is too little memory.
        """
        errors = self.errors
        try:
            yield
        except errors.OutOfMemoryException as error:
            raise OSError(f"{_reason(error)}; give DuckDB more with --memory") from error
        except (errors.IOException, errors.InvalidInputException, errors.CatalogException) as error:
            raise OSError(_reason(error)) from error
        except errors.Error as error:
            if type(error) is not errors.Error:
                raise
            raise OSError(_reason(error)) from error  # DuckDB 2's for a damaged footer


def _reason(error: Exception) -> str:
    """Return the first line of an error of DuckDB, without the JSON in which writing wraps it."""
    line = str(error).partition("\n")[0]
    wrapped = line[line.find('{"exception_type"') :]
    try:
        return str(json.loads(wrapped)["exception_message"])
    except (ValueError, KeyError, TypeError):
        return line


@contextmanager
def opened_database(memory: str = DEFAULT_MEMORY, threads: int | None = None) -> Iterator[Database]:
    """Open a database, and remove at the end what it wrote to the disk."""
    with TemporaryDirectory(prefix="etconfig-fleet-", ignore_cleanup_errors=True) as directory:
        database = Database(memory, threads, Path(directory))
        try:
            yield database
        finally:
            with suppress(Exception):
                database.connection.close()


@contextmanager
def followed(database: Database, on_progress: OnProgress | None) -> Iterator[None]:
    """Report the progress of the queries that run, from a thread; of queries that take a moment, nothing."""
    if on_progress is None:
        yield
        return
    database.rows("SET enable_progress_bar = true")  # or DuckDB does not measure it
    database.rows("SET enable_progress_bar_print = false")
    has_ended = threading.Event()

    def follow() -> None:
        while not has_ended.wait(_LOOK_EVERY_S):
            done = database.connection.query_progress()
            if 0 < done <= 100:  # -1 while none runs
                on_progress(done)

    thread = threading.Thread(target=follow, name="etconfig-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()
        on_progress(None)
