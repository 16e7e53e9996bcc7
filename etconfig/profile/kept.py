"""`KeptProfiles`: profiles that are read once, and again when their files change.

Each call checks that they are unchanged, so a change counts from the next call on. The first checks compare
the stamps of all directories and files. Where Linux reports changes, later ones ask it instead
(`change_watch.py`).
"""

from __future__ import annotations

import os
import stat
from _thread import allocate_lock
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.profile.library import ProfileLibrary
from etconfig.profile.stamp import find_stamp

if TYPE_CHECKING:
    from etconfig.profile.change_watch import ChangeWatch
    from etconfig.profile.expression import ExpressionParser
    from etconfig.profile.inheritance import ProfileReader, ReadProfile
    from etconfig.profile.selector import ProfileSelector

MAX_KEPT_BYTES = 64 << 20
"""The most bytes of texts that are kept from one call to the next; of more, all are read again."""

_MAX_OTHER_FILES = 256
"""The most profiles outside the library that are kept; callers may name any number of paths."""

_CHECKS_BEFORE_WATCH = 2
"""Commands check once or twice, and should not pay for a watch."""


class CurrentProfiles:
    """The profiles as they are at one time. Listing them imports neither TOML nor conditions.

    Attributes:
        library: The library.
        counted: The number of files that `kept_bytes` counts.
        kept_bytes: The size of their texts.
    """

    def __init__(self, library: ProfileLibrary, expressions: ExpressionParser | None = None) -> None:
        self.library = library
        self._expressions = expressions
        self.counted = 0
        self.kept_bytes = 0

    @cached_property
    def reader(self) -> ProfileReader:
        """The reader of the files, with what it has read."""
        from etconfig.profile.inheritance import ProfileReader

        return ProfileReader(self.library, self._expressions)

    @property
    def read(self) -> dict[str, ReadProfile]:
        """The files that were read, by their real paths."""
        return self.reader.read if "reader" in vars(self) else {}

    @cached_property
    def selector(self) -> ProfileSelector:
        """The rule of `auto` over all of these profiles.

        Raises:
            ConfigError: as from `ProfileSelector`.
        """
        from etconfig.profile.selector import ProfileSelector

        return ProfileSelector(self.library, self.reader)


class KeptProfiles:
    """The profiles of a library that is found again when something changes. Several threads may use it.

    Args:
        find_library: Returns the library with its directories not yet listed.
        expected: Directories that may not exist yet; the library is found again if one appears.
    """

    def __init__(self, find_library: Callable[[], ProfileLibrary], expected: Iterable[Path] = ()) -> None:
        self._find_library = find_library
        self._expected = tuple(map(str, expected))
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = (
            allocate_lock()
        )  # another one after a fork, since a thread of the parent may have held it
        self._current: CurrentProfiles | None = None
        self._places: dict[str, tuple[int, int] | None] = {}
        self._watched: _Watched | None = None
        self._checks = 0

    def __reduce__(self) -> tuple[object, ...]:
        return KeptProfiles, (self._find_library, tuple(map(Path, self._expected)))

    def current(self) -> CurrentProfiles:
        """Return the profiles as they are now.

        Raises:
            ConfigError: the library cannot be found.
        """
        if self._process != os.getpid():
            self._start()
        with self._lock:
            if self._current is None or not self._is_unchanged(self._current):
                self._current = self._renewed(self._current)
            return self._current

    def _is_unchanged(self, current: CurrentProfiles) -> bool:
        # what cannot be listed has no stamp, and what takes too much memory is not kept
        if current.library.problems or _is_too_much(current):
            return False
        if any(_place(path) != place for path, place in self._places.items()):
            return False  # for example another directory behind the same link
        if self._watched is not None:
            return self._watched.is_unchanged(current.read)
        self._checks += 1
        folders = current.library.folders
        watch = _watch(folders) if self._checks > _CHECKS_BEFORE_WATCH else None
        # in this order: what changes meanwhile is an event of the watch
        read = [*current.read.values()]
        if not all(seen.still_holds(path) for path, seen in folders.items()) or not all(map(_is_same, read)):
            return False
        self._watched = None if watch is None else _Watched(watch, folders)
        return True

    def _renewed(self, before: CurrentProfiles | None) -> CurrentProfiles:
        """Find the library again, and keep the profiles whose files are the same."""
        self._watched = None
        self._places = {path: _place(path) for path in self._expected}
        library = self._find_library()
        self._places |= {str(source.directory): _place(str(source.directory)) for source in library.sources}
        is_usable = before is not None and before.library.registry is library.registry
        if before is None or not is_usable or not before.read or _is_too_much(before):
            return CurrentProfiles(library)
        current = CurrentProfiles(library, before.reader.expressions)
        listed = {file.real_path: file for file in library.files}
        for key, each in [*before.read.items()]:
            if listed.get(key) == (each.file if each.file.name is not None else None):
                same = _read_again(each)
                if same is not None:
                    current.reader.read[key] = same
        return current


class _Watched:
    """A watch on the directories of a library, and the files of which it reports no changes.

    Args:
        watch: The watch.
        folders: The directories.
    """

    def __init__(self, watch: ChangeWatch, folders: Collection[str]) -> None:
        self._watch = watch
        self._folders = folders
        self._known: set[str] = set()
        self._unwatched: list[ReadProfile] = []

    def is_unchanged(self, read: Mapping[str, ReadProfile]) -> bool:
        """Return True if none of the files that were read has changed."""
        if len(read) != len(self._known):
            for key, each in [*read.items()]:
                if key not in self._known and not self._sees(str(each.file.path)):
                    self._unwatched.append(each)
                self._known.add(key)
        return self._watch.is_quiet() and all(map(_is_same, self._unwatched))

    def _sees(self, path: str) -> bool:
        """Return True if every change of a file is an event: also one through another name of it would be."""
        try:
            status = os.lstat(path)
        except OSError:
            return False
        is_only_name = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        return is_only_name and os.path.dirname(path) in self._folders  # noqa: PTH120


def _watch(folders: Collection[str]) -> ChangeWatch | None:
    from etconfig.profile.change_watch import watch_directories

    return watch_directories(folders)


def _is_too_much(current: CurrentProfiles) -> bool:
    read = current.read
    if len(read) > len(current.library.files) + _MAX_OTHER_FILES:
        return True
    if current.counted != len(read):
        current.counted = len(read)
        current.kept_bytes = sum(len(each.document.source.text) for each in [*read.values()])
    return current.kept_bytes > MAX_KEPT_BYTES


def _is_same(each: ReadProfile) -> bool:
    return each.document.stamp is not None and each.document.stamp.still_holds(str(each.file.path))


def _read_again(each: ReadProfile) -> ReadProfile | None:
    """Return a profile with the stamp that its file has now, or None if its text has changed."""
    if _is_same(each):
        return each
    from etconfig.errors import ConfigError
    from etconfig.profile.document import load_document

    try:
        document = load_document(each.file.path)
    except ConfigError:
        return None  # which is reported when the profile is needed
    if document.source.text != each.document.source.text:
        return None
    return replace(each, document=replace(each.document, stamp=document.stamp))


def _place(path: str) -> tuple[int, int] | None:
    """Return what identifies the directory at a path, or None if there is none."""
    stamp = find_stamp(path)
    return None if stamp is None else (stamp.device, stamp.inode)
