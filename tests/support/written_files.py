"""The state of a file that another write changes."""

from __future__ import annotations

from pathlib import Path


def last_write(path: Path) -> tuple[int, int, int]:
    """Return what another write changes: the inode, the time in nanoseconds, the size in bytes."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size
