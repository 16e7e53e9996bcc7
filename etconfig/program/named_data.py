"""`NamedData`: data by key, read on lookup; `KeptData`: the same, kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping


class NamedData(Mapping[str, memoryview]):
    """An immutable mapping; looking up a key raises ProgramError if its bytes cannot be read."""

    def __init__(self, readers: Mapping[str, Callable[[], memoryview]]) -> None:
        """Take the functions that read the data, by key."""
        self._readers = dict(readers)

    def __getitem__(self, key: str) -> memoryview:
        read = self._readers.get(key)
        if read is None:
            raise KeyError(f"{key!r} is neither in the program nor in one of its data files (.ptd)")
        return read()

    def __contains__(self, key: object) -> bool:
        return key in self._readers

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)


class KeptData(Mapping[str, memoryview]):
    """The data that one delegate looks up, valid as long as this object, since it may keep addresses alone.

    A view whose `release` was called, as `with` does, no longer keeps the data.
    """

    def __init__(self, data: Mapping[str, memoryview]) -> None:
        """Take the data."""
        self._source = data
        self._views: list[memoryview] = []

    def __getitem__(self, key: str) -> memoryview:
        view = self._source[key]
        self._views.append(view)
        return view

    def __contains__(self, key: object) -> bool:
        return key in self._source

    def __iter__(self) -> Iterator[str]:
        return iter(self._source)

    def __len__(self) -> int:
        return len(self._source)
