"""Writing of rows to Parquet whose columns are not all known at the start."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from etconfig.fleet.columns import DEVICE_COLUMN, DEVICE_FACT, LINE_COLUMN, PROBLEM_COLUMN

if TYPE_CHECKING:
    import numpy as np
    import pyarrow
    from numpy.typing import NDArray
    from pyarrow.parquet import ParquetWriter

_GROUP_ROWS = 122_880
"""The rows of a group, as DuckDB writes them."""

_GROUP_BYTES = 64 << 20


class PartWriter:
    """Writes rows into a file, and into another one when there are new columns of facts.

    Attributes:
        rows: The number of rows so far.

    Args:
        directory: Where the parts are written.
        device_column: The name of the column that names devices.
    """

    def __init__(self, directory: Path, device_column: str) -> None:
        import numpy
        import pyarrow
        from pyarrow import parquet

        self.rows = 0
        self._directory = directory
        self._device_column = device_column
        self._numpy = numpy
        self._arrow = pyarrow
        self._parquet = parquet
        texts = [(name, pyarrow.string()) for name in ("fact", "problem", "help", "value")]
        self._problem = pyarrow.struct(texts)
        self._facts: dict[str, pyarrow.DataType] = {}
        self._waiting: list[pyarrow.Table] = []
        self._waiting_rows = self._waiting_bytes = 0
        self._parts: list[Path] = []
        self._writer: ParquetWriter | None = None

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        if self._writer is not None:
            self._writer.close()

    def add(self, table: pyarrow.Table, lines: NDArray[np.int64]) -> None:
        """Add rows: the name of each device, its facts, problems if there are some, and the lines."""
        arrow, numpy = self._arrow, self._numpy
        count = table.num_rows
        self.rows += count
        table = table.append_column(LINE_COLUMN, arrow.array(lines))
        if PROBLEM_COLUMN not in table.column_names:
            offsets = arrow.array(numpy.zeros(count + 1, dtype=numpy.int32))
            none = arrow.ListArray.from_arrays(offsets, arrow.array([], self._problem))
            table = table.append_column(PROBLEM_COLUMN, none)
        self._waiting.append(table)
        self._waiting_rows += count
        self._waiting_bytes += table.nbytes
        if self._waiting_rows >= _GROUP_ROWS or self._waiting_bytes >= _GROUP_BYTES:
            self._flush()

    def _schema(self) -> pyarrow.Schema:
        arrow = self._arrow
        own = [
            (self._device_column, arrow.string()),
            (LINE_COLUMN, arrow.int64()),
            (PROBLEM_COLUMN, arrow.list_(self._problem)),
        ]
        return arrow.schema([*own, *sorted(self._facts.items())])

    def _flush(self) -> None:
        """Write the rows that wait, as one group."""
        if not self._waiting:
            return
        own = (DEVICE_COLUMN, LINE_COLUMN, PROBLEM_COLUMN)
        found = {
            field.name: field.type for each in self._waiting for field in each.schema if field.name not in own
        }
        if self._writer is None or not self._facts.keys() >= found.keys():
            self._facts |= {name: type_ for name, type_ in found.items() if name not in self._facts}
            self._start()
        assert self._writer is not None
        tables = [self._fitted(each) for each in self._waiting]
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0
        self._writer.write_table(self._arrow.concat_tables(tables).combine_chunks())

    def _start(self) -> None:
        """Start a part with a column for each fact that is known now."""
        if self._writer is not None:
            self._writer.close()
        self._parts.append(self._directory / f"part-{len(self._parts)}.parquet")
        self._writer = self._new_writer(self._parts[-1])

    def _new_writer(self, path: Path) -> ParquetWriter:
        schema = self._schema()
        repetitive = [name for name in schema.names if name not in (self._device_column, LINE_COLUMN)]
        return self._parquet.ParquetWriter(path, schema, compression="zstd", use_dictionary=repetitive)

    def _fitted(self, table: pyarrow.Table) -> pyarrow.Table:
        """Return rows with all columns that are written."""
        schema = self._schema()
        found = dict(zip(table.column_names, table.columns, strict=True))
        found[self._device_column] = device = found.pop(DEVICE_COLUMN)
        found.setdefault(DEVICE_FACT, device)  # the name, unless a line has the fact
        columns = [
            found[field.name].cast(field.type)
            if field.name in found
            else self._arrow.nulls(table.num_rows, field.type)
            for field in schema
        ]
        return self._arrow.Table.from_arrays(columns, schema=schema)

    def join(self, target: Path) -> None:
        """Write the rows of all parts into one file."""
        if len(self._parts) == 1:
            shutil.move(self._parts[0], target)
            return
        with self._new_writer(target) as writer:
            for path in self._parts:
                with self._parquet.ParquetFile(path) as part:
                    for number in range(part.num_row_groups):
                        group = part.read_row_group(number)
                        names = [DEVICE_COLUMN, *group.column_names[1:]]
                        writer.write_table(self._fitted(group.rename_columns(names)))
