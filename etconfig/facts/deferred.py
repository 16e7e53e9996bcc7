"""Facts of a sheet that are made or detected when something asks for them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from etconfig.facts.fact import Fact
from etconfig.facts.registry import FactRegistry, FactValue

_ValueT = TypeVar("_ValueT")


class _Deferred(Mapping[str, _ValueT]):
    """A mapping whose members are made on first use. Two threads may both make them.

    It pickles as a dict, since what makes the members may not pickle.
    """

    @cached_property
    def _all(self) -> dict[str, _ValueT]:
        return self._make_all()

    @abstractmethod
    def _make_all(self) -> dict[str, _ValueT]:
        """Return all members, in order."""

    def __getitem__(self, name: str) -> _ValueT:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return repr(self._all)

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (self._all,)


class LazyFacts(_Deferred[Fact]):
    """Facts of which conditions and resolvers need only the values, which a sheet keeps.

    Args:
        make: Returns the facts.
        replaced: Facts that win over the ones it returns.
    """

    def __init__(self, make: Callable[[], Mapping[str, Fact]], replaced: Mapping[str, Fact]) -> None:
        self._make = make
        self._replaced = replaced

    def _make_all(self) -> dict[str, Fact]:
        return {**self._make(), **self._replaced}

    def replacing(self, facts: Mapping[str, Fact]) -> LazyFacts:
        """Return the same facts with these replaced. It does not refer to this object: chains stay flat."""
        return LazyFacts(self._make, {**self._replaced, **facts})


class DeferredPart:
    """The facts of one plugin. It is open when they are detected, so they must not change by themselves.

    Args:
        namespaces: The namespaces of the facts.
        detect: Returns the facts, unknown ones included.
    """

    def __init__(self, namespaces: frozenset[str], detect: Callable[[], Mapping[str, Fact]]) -> None:
        self.namespaces = namespaces
        self._detect = detect

    @cached_property
    def facts(self) -> Mapping[str, Fact]:
        """The facts by name; detected once."""
        return self._detect()


class DeferredFacts(_Deferred[Fact]):
    """Facts; the facts of some plugins are detected when something asks for one of them, or lists all.

    Args:
        found: The facts that are known already.
        parts: The others.
        registry: Decides on the order.
    """

    def __init__(
        self, found: Mapping[str, Fact], parts: tuple[DeferredPart, ...], registry: FactRegistry
    ) -> None:
        self._found = found
        self._parts = parts
        self._registry = registry

    def _make_all(self) -> dict[str, Fact]:
        merged = {name: fact for part in self._parts for name, fact in part.facts.items()} | {**self._found}
        members = {**self._found, **merged}
        ordered = {name: merged[name] for name in self._registry.plain_names if name in merged}
        return {**ordered, **members}

    def __getitem__(self, name: str) -> Fact:
        if name in self._found:
            return self._found[name]
        namespace = name.partition(".")[0] if isinstance(name, str) else None
        for part in self._parts:
            if namespace in part.namespaces:
                return part.facts[name]
        raise KeyError(name)

    def replacing(self, facts: Mapping[str, Fact]) -> DeferredFacts:
        """Return the same facts with these replaced; they need not be detected for that."""
        return DeferredFacts({**self._found, **facts}, self._parts, self._registry)


class DeferredValues(_Deferred[FactValue]):
    """The values of the known ones among `DeferredFacts`.

    Args:
        facts: The facts.
    """

    def __init__(self, facts: DeferredFacts) -> None:
        self._facts = facts

    def _make_all(self) -> dict[str, FactValue]:
        return {name: fact.value for name, fact in self._facts.items() if fact.value is not None}

    def __getitem__(self, name: str) -> FactValue:
        value = self._facts[name].value
        if value is None:
            raise KeyError(name)
        return value
