"""Files that nobody else can read or replace, for the short time in which a library is loaded."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def private_file(data: bytes | memoryview, suffix: str) -> Iterator[Path]:
    """Write `data` to a file in a new directory with mode 0700, and remove both afterwards.

    A library stays usable: the process has mapped it. The directory is made where `TMPDIR` says.

    Raises:
        OSError: there is no room, or no place to write to.
    """
    directory = Path(tempfile.mkdtemp(prefix="etconfig-tvm-"))
    try:
        path = directory / f"model{suffix}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        yield path
    finally:
        shutil.rmtree(directory, ignore_errors=True)
