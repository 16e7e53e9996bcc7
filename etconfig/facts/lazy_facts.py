"""`LazyFacts`: the facts of a sheet, made when something asks for more than their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from etconfig.facts.fact import Fact


class LazyFacts(Mapping[str, Fact]):
    """Facts by name, made on first use: conditions and resolvers need only the values, which a sheet keeps.

    Args:
        make: Returns the facts. Two threads may both call it.
        replaced: Facts that replace those that it returns.
    """

    def __init__(self, make: Callable[[], Mapping[str, Fact]], replaced: Mapping[str, Fact]) -> None:
        self._make = make
        self._replaced = replaced

    @cached_property
    def _facts(self) -> dict[str, Fact]:
        return {**self._make(), **self._replaced}

    def __getitem__(self, name: str) -> Fact:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return repr(self._facts)

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (self._facts,)  # what makes them may not pickle

    def replacing(self, facts: Mapping[str, Fact]) -> LazyFacts:
        """Return the same facts with these replaced. It does not refer to this object: chains stay flat."""
        return LazyFacts(self._make, {**self._replaced, **facts})
