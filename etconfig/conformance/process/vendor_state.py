"""What a vendor's package keeps in its modules and classes, to be compared with what it kept before."""

from __future__ import annotations

import itertools
import sys
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from etconfig.plugin import EntryPoint

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def package_of(entry: EntryPoint) -> str:
    """The package of an imported plugin: the first part of its module's name that is no namespace package."""
    parts = entry.module.split(".")
    names = [".".join(parts[: count + 1]) for count in range(len(parts))]
    return next(name for name in names if getattr(sys.modules[name], "__file__", None))


class VendorState:
    """The variables of a package's modules and classes, as they are now.

    Containers, numpy arrays and objects of the package's own classes are looked into; of all else it
    matters only which object it is. What functions, weak containers and submodules hold is not looked at.

    Args:
        package: The package. Modules of it that are imported later are not looked at.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._modules = [
            name for name in sorted(sys.modules) if name == package or name.startswith(f"{package}.")
        ]
        self._pictures = self._take()

    def changed(self) -> tuple[str, ...]:
        """The variables that are not what they were, were removed or are new, by dotted name."""
        now = self._take()
        return tuple(name for name in {**self._pictures, **now} if self._pictures.get(name) != now.get(name))

    def _take(self) -> dict[str, object]:
        return {
            name: _picture(value, self._package)
            for module in self._modules
            for name, value in _variables(module, vars(sys.modules[module]))
        }


class _Same:
    """Equal to itself for the same object only; keeps it, so that no other one takes its place."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)


def _variables(owner: str, members: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The variables of a module or a class, and those of the classes that are defined in it."""
    for name, value in list(members.items()):
        if name.startswith("__") or isinstance(value, ModuleType):
            continue
        yield f"{owner}.{name}", value
        if isinstance(value, type) and f"{value.__module__}.{value.__qualname__}" == f"{owner}.{name}":
            yield from _variables(f"{owner}.{name}", vars(value))


def _picture(value: Any, package: str, within: frozenset[int] = frozenset()) -> Hashable:
    """What is equal as long as `value` is the same object and holds the same."""
    if isinstance(value, _PLAIN):
        return type(value), repr(value)
    if id(value) in within:
        return _Same(value)
    within |= {id(value)}
    if isinstance(value, (bytearray, np.ndarray)):
        return _Same(value), value.tobytes() if isinstance(value, np.ndarray) else bytes(value)
    return _Same(value), tuple(_picture(item, package, within) for item in _contents(value, package))


def _contents(value: Any, package: str) -> Iterable[object]:
    """What a container or an object of the package holds."""
    if isinstance(value, dict):
        return itertools.chain.from_iterable(value.items())
    if isinstance(value, (list, tuple, deque, set, frozenset)):
        return value
    if f"{type(value).__module__}.".startswith(f"{package}."):
        return itertools.chain.from_iterable(getattr(value, "__dict__", {}).items())
    return ()
