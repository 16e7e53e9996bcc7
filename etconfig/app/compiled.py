"""`CompiledResolvers`: resolvers of an installation that were compiled before, by program and profiles.

Compiling takes most of the time of a call that changes nothing but facts. A resolver is kept for calls that
give neither overrides nor instances nor facts by hand, so that all it depends on can be compared by identity.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.plugin.registry import PluginRegistry
    from etconfig.profile.profile import Profile
    from etconfig.resolver.resolver import Resolver

_ProgramT = TypeVar("_ProgramT")

MAX_COMPILED = 64
"""The most resolvers that are kept: one for each program and profile."""


@record(frozen=True, eq=False)
class CompiledFrom:
    """All that a kept resolver depends on.

    Attributes:
        program: The program, or None.
        chain: The profile and all that it extends.
        plugins: The plugins with the schemas of the backends.
        environment: The text of `ETCONFIG_SET`.
        has_note: True if `auto` fell back to a profile that matches every device, which is a note.
    """

    program: object
    chain: Sequence[Profile]
    plugins: PluginRegistry
    environment: str
    has_note: bool

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for equal parts while these parts exist."""
        parts = (self.program, self.plugins, *self.chain)
        return (self.environment, self.has_note, *map(id, parts))


@record(frozen=True, eq=False)
class _Entry:
    """A resolver, and references that keep the parts of its key alive, except for the program."""

    program: weakref.ref[object] | None
    origin: tuple[object, ...]
    resolver: Resolver


class CompiledResolvers:
    """The resolvers that one installation compiled. Several threads may use them."""

    def __init__(self) -> None:
        self._entries: dict[tuple[object, ...], _Entry] = {}
        self._default: tuple[object, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        return CompiledResolvers, ()

    def default_program(self, make: Callable[[], _ProgramT]) -> _ProgramT:
        """Return what is configured where no program is given, which `make` makes once.

        It is the same object each time, so that resolvers compiled for it are found again.
        """
        if not self._default:
            self._default = (make(),)
        return cast("_ProgramT", self._default[0])

    def find(self, parts: CompiledFrom) -> Resolver | None:
        """Return the resolver that was compiled from these parts, or None."""
        entry = self._entries.get(parts.key)
        if entry is None or (entry.program is not None and entry.program() is not parts.program):
            return None
        return entry.resolver

    def keep(self, parts: CompiledFrom, resolver: Resolver) -> None:
        """Keep a resolver that was compiled from these parts."""
        try:
            program = None if parts.program is None else weakref.ref(parts.program)
        except TypeError:  # an object of a caller's own class, which allows no weak references
            return
        # one step, so that threads need no lock
        full = len(self._entries) >= MAX_COMPILED
        entry = _Entry(program, (parts.plugins, *parts.chain), resolver)
        self._entries = {**({} if full else self._entries), parts.key: entry}
