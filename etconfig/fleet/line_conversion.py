"""Conversion of lines of JSON by Arrow where it agrees with DuckDB, and by DuckDB elsewhere: one table."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from etconfig.facts.registry import FactRegistry
from etconfig.fleet.columns import DEVICE_COLUMN, LINE_COLUMN
from etconfig.fleet.database import Database
from etconfig.fleet.json_blocks import BlockReader, LongLineError, blocks_of, sample_lines
from etconfig.fleet.json_shape import LineShape
from etconfig.fleet.json_sql import BYTE_ORDER_MARK, MAX_LINE_BYTES, convert_exactly
from etconfig.fleet.names import fact_of_column
from etconfig.fleet.parquet_parts import PartWriter

if TYPE_CHECKING:
    import numpy as np
    import pyarrow
    from numpy.typing import NDArray

_BLOCK_BYTES = 4 << 20
"""The bytes that Arrow reads at once: it is fastest where they stay in the cache."""

_SMALLEST_BLOCK_BYTES = 256 << 10
_MEMORY_OF_BYTE = 32
"""The bytes of memory for each byte of a block, all that is made of it included."""

_SAMPLED_BYTES = 100 << 10
"""A line is sampled each time after so many bytes."""

_HOPELESS_BLOCKS = 8
"""If Arrow reads none of the first blocks, DuckDB converts the file alone."""


class _OtherRouteError(Exception):
    """A file that DuckDB converts alone, since its parts may be read otherwise than the whole."""


def convert_lines(
    database: Database,
    path: Path,
    target: Path,
    registry: FactRegistry,
    id_column: str | None,
    ignored: Collection[str],
) -> None:
    """Write what `convert_exactly` writes, several times as fast. The arguments are the same.

    Raises:
        OSError: the file cannot be read, or the converted one not written.
    """
    try:
        with TemporaryDirectory(prefix=".etconfig-lines-", dir=target.parent) as scratch:
            conversion = _LineConversion(database, registry, id_column, ignored, Path(scratch))
            conversion.convert(path, target)
    except (_OtherRouteError, LongLineError):
        convert_exactly(database, path, target, registry, id_column, ignored)


class _LineConversion:
    """The conversion of one file.

    Args:
        database: The database that converts what Arrow does not.
        registry: The facts.
        id_column: The key that names the devices.
        ignored: Keys to leave out.
        scratch: A directory for parts.
    """

    def __init__(
        self,
        database: Database,
        registry: FactRegistry,
        id_column: str | None,
        ignored: Collection[str],
        scratch: Path,
    ) -> None:
        self._database = database
        self._registry = registry
        self._id_column = id_column
        self._ignored = ignored
        self._scratch = scratch
        self._refused = scratch / "refused.jsonl"
        self._refused_lines: list[tuple[int, int]] = []  # the first, and their count
        self._shape = LineShape(registry, id_column, ignored)
        self._lines = 0
        self._threads = int(database.rows("SELECT current_setting('threads')")[0][0])

    def convert(self, path: Path, target: Path) -> None:
        """Convert a file. The lines that Arrow refuses come last.

        Raises:
            LongLineError: a line is longer than DuckDB reads.
            _OtherRouteError: DuckDB must convert it alone.
        """
        device_column = DEVICE_COLUMN if self._id_column is None else self._id_column
        if self._registry.get(fact_of_column(device_column)) is not None:
            raise _OtherRouteError  # a column and a fact of one name
        with PartWriter(self._scratch, device_column) as writer, self._refused.open("wb") as refused:
            for number, pieces in enumerate(self._pieces(path)):
                if number == _HOPELESS_BLOCKS and not writer.rows:
                    raise _OtherRouteError
                for piece in pieces:
                    if isinstance(piece, bytes):
                        refused.write(piece)
                        count = _count_lines(piece)
                        self._refused_lines.append((self._lines + 1, count))
                    else:
                        count = piece.num_rows
                        writer.add(piece, _numbers([(self._lines + 1, count)]))
                    self._lines += count
            refused.flush()
            if not writer.rows:
                raise _OtherRouteError
            if self._refused_lines:
                self._add_refused(writer)
        writer.join(target)

    def _pieces(self, path: Path) -> Iterator[list[pyarrow.Table | bytes]]:
        """Yield what Arrow makes of each block, on as many threads as DuckDB has."""
        reader = BlockReader()
        with path.open("rb") as file, ThreadPoolExecutor(self._threads) as pool:
            if file.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
                file.seek(0)
            running: deque[Future[list[pyarrow.Table | bytes]]] = deque()
            for block in blocks_of(file, self._block_bytes(), MAX_LINE_BYTES):
                self._shape.learn(sample_lines(block, _SAMPLED_BYTES))
                layout = self._shape.layout
                if layout is None:
                    raise _OtherRouteError
                if self._threads == 1:
                    yield reader.read(block, layout)
                    continue
                running.append(pool.submit(reader.read, block, layout))
                if len(running) > self._threads:
                    yield running.popleft().result()
            for each in running:
                yield each.result()

    def _block_bytes(self) -> int:
        share = self._database.memory_bytes // (_MEMORY_OF_BYTE * self._threads)
        return max(_SMALLEST_BLOCK_BYTES, min(_BLOCK_BYTES, share))

    def _add_refused(self, writer: PartWriter) -> None:
        """Write the rows that DuckDB makes of the lines that Arrow refused.

        Raises:
            _OtherRouteError: they may mean something else at the start of a file, or DuckDB refuses them.
        """
        from pyarrow import parquet

        with self._refused.open("rb") as file:
            if file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK:
                raise _OtherRouteError
        converted = self._scratch / "refused.parquet"
        try:
            with self._database.reading():
                convert_exactly(
                    self._database, self._refused, converted, self._registry, self._id_column, self._ignored
                )
        except OSError as error:
            raise _OtherRouteError from error
        numbers, taken = _numbers(self._refused_lines), 0
        with parquet.ParquetFile(converted) as file:
            if file.metadata.num_rows != len(numbers):
                raise _OtherRouteError
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                table = table.rename_columns([DEVICE_COLUMN, *table.column_names[1:]])
                until = taken + table.num_rows
                writer.add(table.drop_columns([LINE_COLUMN]), numbers[taken:until])
                taken = until


def _numbers(ranges: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Return the numbers of lines, of ranges given by their first number and their count."""
    import numpy

    return numpy.concatenate(
        [numpy.arange(first, first + count, dtype=numpy.int64) for first, count in ranges]
    )


def _count_lines(text: bytes) -> int:
    """Return the number of lines that are not empty."""
    return sum(1 for line in text.split(b"\n") if line.strip())
