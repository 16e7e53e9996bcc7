"""The state that a vendor's package keeps in its modules and classes, for comparison over time."""

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
    """Return the package of an imported plugin: the outermost that is not a namespace package."""
    parts = entry.module.split(".")
    names = [".".join(parts[: count + 1]) for count in range(len(parts))]
    return next(name for name in names if getattr(sys.modules[name], "__file__", None))


class VendorState:
    """The variables of a package's modules and classes, as they are now.

    Containers, numpy arrays and objects of the package's own classes are compared by their contents,
    everything else by identity. The contents of functions, weak containers and submodules are ignored.

    Args:
        package: The package. Modules of it that are imported later are ignored.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._modules = [
            name for name in sorted(sys.modules) if name == package or name.startswith(f"{package}.")
        ]
        self._pictures = self._take()

    def changed(self) -> tuple[str, ...]:
        """Return the dotted names of the variables that were changed, removed or added."""
        now = self._take()
        return tuple(name for name in {**self._pictures, **now} if self._pictures.get(name) != now.get(name))

    def _take(self) -> dict[str, object]:
        return {
            name: _picture(value, self._package)
            for module in self._modules
            for name, value in _variables(module, vars(sys.modules[module]))
        }


class _Same:
    """Equal only for the same object; keeps it alive, so that no other one can get its id."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)


def _variables(owner: str, members: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the variables of a module or a class, and of the classes defined in it."""
    for name, value in list(members.items()):
        if name.startswith("__") or isinstance(value, ModuleType):
            continue
        yield f"{owner}.{name}", value
        if isinstance(value, type) and f"{value.__module__}.{value.__qualname__}" == f"{owner}.{name}":
            yield from _variables(f"{owner}.{name}", vars(value))


def _picture(value: Any, package: str, within: frozenset[int] = frozenset()) -> Hashable:
    """Return a picture of `value` that stays equal as long as its identity and contents do."""
    if isinstance(value, _PLAIN):
        return type(value), repr(value)
    if id(value) in within:  # a cycle: its contents are in the picture already
        return _Same(value)
    within |= {id(value)}
    if isinstance(value, (bytearray, np.ndarray)):
        return _Same(value), value.tobytes() if isinstance(value, np.ndarray) else bytes(value)
    return _Same(value), tuple(_picture(item, package, within) for item in _contents(value, package))


def _contents(value: Any, package: str) -> Iterable[object]:
    """Return the contents of a container, or of an object of the package."""
    if isinstance(value, dict):
        return itertools.chain.from_iterable(value.items())
    if isinstance(value, (list, tuple, deque, set, frozenset)):
        return value
    if f"{type(value).__module__}.".startswith(f"{package}."):
        return itertools.chain.from_iterable(getattr(value, "__dict__", {}).items())
    return ()
