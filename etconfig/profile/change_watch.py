"""`ChangeWatch`: Linux reports changes in directories, so that a thousand files need not be looked at.

A call for each of 1,000 files takes longer than selecting a profile and resolving all options. Where the
kernel sees every change, one question to it takes a few microseconds. It sees those of its own file systems;
others may change on another machine, so they are not watched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED, _CREATE, _DELETE = 0x2, 0x4, 0x8, 0xC0, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _ONLY_DIRECTORIES = 0x400, 0x800, 0x1000000
_MASK = (
    _MODIFY
    | _ATTRIB
    | _CLOSE_WRITE
    | _MOVED
    | _CREATE
    | _DELETE
    | _DELETE_SELF
    | _MOVE_SELF
    | _ONLY_DIRECTORIES
)
_LOCAL = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # XFS
        0x9123683E,  # Btrfs
        0xF2F52010,  # F2FS
        0x2FC12FC1,  # ZFS
        0x01021994,  # tmpfs
        0x794C7630,  # overlayfs, in containers
    }
)
"""The types of file systems that only this kernel changes."""

_EVENT_BYTES = 64 << 10
_STATFS_BYTES = 512


class ChangeWatch:
    """A watch on some directories, from its making on.

    It serves the process that made it: after a fork, both processes would take events from one queue.

    Args:
        descriptor: The queue of the events; the watch closes it.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._process = os.getpid()
        self._identity = _identity(descriptor)

    def is_quiet(self) -> bool:
        """Return True if certainly nothing has changed in the directories since the watch was made."""
        if not self._is_own():
            return False
        try:
            os.read(self._descriptor, _EVENT_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close the queue."""
        if self._is_own():
            os.close(self._descriptor)
            self._process = -1

    def __del__(self) -> None:
        with suppress(AttributeError, OSError, TypeError):  # names may be gone when Python ends
            self.close()

    def _is_own(self) -> bool:
        """Return True if the descriptor is still the queue; a daemon closes all that it does not know."""
        return self._process == os.getpid() and _identity(self._descriptor) == self._identity


def watch_directories(directories: Iterable[str]) -> ChangeWatch | None:
    """Watch directories, each without those below it; None if the system cannot report every change."""
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # takes some milliseconds; only programs that resolve again and again come here

        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    except (ImportError, OSError, AttributeError):
        return None
    if descriptor < 0:  # the system has no more of them
        return None
    watch = ChangeWatch(descriptor)
    for directory in directories:
        name = os.fsencode(directory)
        if not _is_local(libc, name) or libc.inotify_add_watch(descriptor, name, _MASK) < 0:
            watch.close()
            return None
    return watch


def _is_local(libc: Any, name: bytes) -> bool:
    import ctypes

    status = ctypes.create_string_buffer(_STATFS_BYTES)
    if libc.statfs(name, status) != 0:
        return False
    return int.from_bytes(status.raw[:4], sys.byteorder) in _LOCAL  # the first member is its type


def _identity(descriptor: int) -> tuple[int, int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mode
