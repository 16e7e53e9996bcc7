"""Packages that import their public names on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, home: Mapping[str, str], root: str | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package.

    Args:
        package: The package's `__name__`.
        home: The module of the package that defines each public name. No such module may itself have a
            public name: once imported, it would hide the object of that name.
        root: The package of these modules, if it is another one.
    """
    assert root is not None or not home.keys() & home.values()

    def fetch(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{root or package}.{home[name]}"), name)
        setattr(import_module(package), name, value)
        return value

    return fetch, lambda: sorted(home)
