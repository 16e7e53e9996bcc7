"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a path beside `target` that replaces it at the end, and is removed after an error.

    No other process has the same path, also on another machine.
    """
    beside = target.with_name(f".{target.name}.{uuid4().hex[:12]}.tmp")
    try:
        yield beside
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
