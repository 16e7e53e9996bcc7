"""`FileStamp`: what shows that a file or a directory has changed, without reading it again."""

from __future__ import annotations

import os
import time

from etconfig.records import record

SETTLED_AFTER_NS = 2_000_000_000
"""File systems keep times in steps of at most two seconds. A second change in one step does not show."""


@record(frozen=True)
class FileStamp:
    """The identity, the size and the times of a file.

    Attributes:
        device: The number of its file system.
        inode: Its number there.
        size_bytes: Its size.
        modified_ns: The time of the last change of its contents.
        changed_ns: The time of the last change of contents, owner, mode or links.
    """

    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int


@record(frozen=True)
class SeenStamp:
    """A stamp, and whether an equal one later proves that nothing has changed.

    Attributes:
        stamp: The stamp; None if there was no such file.
        is_settled: False if the file had been changed just before: a later change in the same step of the
            clock would not show.
    """

    stamp: FileStamp | None
    is_settled: bool

    def still_holds(self, path: str) -> bool:
        """Return True if the file at `path` is certainly the same."""
        return self.is_settled and find_stamp(path) == self.stamp


def stamp_of(status: os.stat_result) -> FileStamp:
    """Return the stamp in a status."""
    return FileStamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def find_stamp(path: str) -> FileStamp | None:
    """Return the stamp of what is at a path, links followed, or None if nothing can be found there."""
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116  (called for each of a thousand files)
    except (OSError, ValueError):
        return None


def seen(stamp: FileStamp | None, before_ns: int) -> SeenStamp:
    """Return the stamp of something that was read.

    Args:
        stamp: The stamp that it had.
        before_ns: The time before it was read, from `now_ns`.
    """
    newest = 0 if stamp is None else max(stamp.modified_ns, stamp.changed_ns)
    return SeenStamp(stamp, newest + SETTLED_AFTER_NS < before_ns)


def now_ns() -> int:
    """Return the time of the clock that file systems use."""
    return time.time_ns()
