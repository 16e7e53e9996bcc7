"""`LazyFactRegistry`: facts of which those of plugins are looked up when one of them is named."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from etconfig.facts.registry import FactInfo, FactRegistry, FactValue


class LazyFactRegistry(FactRegistry):
    """The facts of one registry, and those that plugins add to it in namespaces of their own.

    A plugin that hangs or breaks when it is imported affects only those who name a fact outside of the first
    registry, or who list all facts.

    Args:
        first: The facts that need no plugin.
        declared: Returns those of the others that are known without importing a plugin.
        complete: Returns the registry of all facts, which begins with the first. It may import plugins.
    """

    _first: FactRegistry
    _find_declared: Callable[[], FactRegistry]
    _find_all: Callable[[], FactRegistry]

    def __init__(
        self,
        first: FactRegistry,
        declared: Callable[[], FactRegistry],
        complete: Callable[[], FactRegistry],
    ) -> None:
        vars(self).update(_first=first, _find_declared=declared, _find_all=complete)

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        return frozenset(info.namespace for info in self._first.infos)

    @cached_property
    def _declared(self) -> FactRegistry:
        return self._find_declared()

    @cached_property
    def _complete(self) -> FactRegistry:
        return self._find_all()

    @property
    def infos(self) -> tuple[FactInfo, ...]:
        """All facts."""
        return self._complete.infos

    @property
    def _by_name(self) -> dict[str, FactInfo]:
        return self._complete._by_name

    def begins_with(self, other: FactRegistry) -> bool:
        """Return True if the first facts are those of another registry, in the same order."""
        return self._first.begins_with(other) or super().begins_with(other)

    def in_order(self, values: dict[str, FactValue]) -> dict[str, FactValue]:
        """Return values in the order of the facts, and then those of members of families in their own."""
        known = (self._first, self._declared)
        if not all(any(name in registry for registry in known) for name in values):
            return super().in_order(values)
        names = (*self._first.plain_names, *self._declared.plain_names)
        return {**{name: values[name] for name in names if name in values}, **values}

    def get(self, name: str) -> FactInfo | None:
        """Return the fact of this name, or None. Plugins add no facts to the namespaces of the first ones."""
        found = self._first.get(name)
        if found is None and "." in name and name.partition(".")[0] not in self._namespaces:
            found = self._declared.get(name) or self._complete.get(name)
        return found

    def __eq__(self, other: object) -> bool:
        return self.infos == other.infos if isinstance(other, FactRegistry) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.infos)

    def __reduce__(self) -> tuple[object, ...]:
        return FactRegistry, (self.infos,)  # what finds the plugins may not pickle
