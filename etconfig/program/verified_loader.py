"""`VerifiedLoader`: the bytes of a verified program in parts, for an executor with a reader of its own."""

from __future__ import annotations

from etconfig.program.cursor import Cursor, Extent
from etconfig.program.program_errors import naming


class VerifiedLoader:
    """A `DataLoader` over a program or a data file that was verified. Threads may share it.

    Args:
        file: The whole file.
        tables_bytes: The size of the tables, whose bytes in memory are those that were verified.
        named: Adds the name of the file to errors.
    """

    def __init__(self, file: Cursor, tables_bytes: int, named: naming) -> None:
        self._file = file
        self._tables_bytes = tables_bytes
        self._naming = named

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return self._file.size_bytes

    def load(self, offset: int, size: int) -> memoryview:
        """Return `size` bytes from `offset` on, read-only, without a copy.

        Raises:
            ProgramError: they are not in the file, or cannot be read.
        """
        extent = Extent(offset, size)
        with self._naming:
            if extent.end <= self._tables_bytes:
                return self._file.view(extent, "")
            return self._file.apart(extent, "")
