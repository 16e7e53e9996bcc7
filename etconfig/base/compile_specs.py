"""`CompileSpecs`: what was fixed ahead of time for one delegate, in the order of the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple


class CompileSpec(NamedTuple):
    """A key and bytes that were fixed ahead of time."""

    key: str
    value: bytes


class CompileSpecs(Mapping[str, bytes]):
    """The compile specs of a delegate: a sequence of keys and values, seen as a mapping.

    A program may repeat a key. A mapping has one value for each, so asking for a repeated key raises
    ValueError; `in_order` and `every` have all of them.

    Example:
        >>> from etconfig.plugin.v1 import CompileSpecs
        >>> specs = CompileSpecs([("op", b"a"), ("z", b"1"), ("op", b"b")])
        >>> [spec.key for spec in specs.in_order], specs.every("op"), specs["z"]
        (['op', 'z', 'op'], (b'a', b'b'), b'1')

    Args:
        specs: Keys and values, in the order of the program.
    """

    def __init__(self, specs: Iterable[tuple[str, bytes]] = ()) -> None:
        self._specs = tuple(CompileSpec(key, value) for key, value in specs)
        self._values: dict[str, list[bytes]] = {}
        for key, value in self._specs:
            self._values.setdefault(key, []).append(value)

    @property
    def in_order(self) -> tuple[CompileSpec, ...]:
        """All of them, in the order of the program."""
        return self._specs

    @property
    def repeated(self) -> tuple[str, ...]:
        """The keys that appear more than once."""
        return tuple(key for key, values in self._values.items() if len(values) > 1)

    def every(self, key: str) -> tuple[bytes, ...]:
        """Return all values of a key, in the order of the program; none if it does not appear."""
        return tuple(self._values.get(key, ()))

    def __getitem__(self, key: str) -> bytes:
        first, *others = self._values[key]
        if others:
            raise ValueError(
                f"compile spec {key!r} appears {len(others) + 1} times, and one value was asked for; read "
                f"all with CompileSpecs.every({key!r}) or CompileSpecs.in_order, or refuse the program"
            )
        return first

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CompileSpecs):
            return self._specs == other._specs
        if isinstance(other, Mapping):
            return not self.repeated and dict(self._specs) == dict(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._specs))

    def __repr__(self) -> str:
        return f"CompileSpecs({[tuple(spec) for spec in self._specs]!r})"
