"""Broken promises: compares a public surface with the part of it that was promised to plugins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from api_surface import Surface

IMPLEMENTED_BY_PLUGINS = frozenset({"Backend", "Detector", "Executor", "ExecutorProgram", "RunnableMethod"})
"""The classes whose methods the core calls and plugins implement: these cannot get another argument."""


@dataclass(frozen=True)
class Break:
    """A broken promise.

    Attributes:
        kind: `removed`, `changed`, `changed signature`, `new required field` or `new abstract method`.
        path: The dotted path of the name.
        detail: The promised form, and the present one.
    """

    kind: str
    path: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.path}: {self.detail}"


def breaks(frozen: Surface, surface: Surface) -> list[Break]:
    """Return every promise of `frozen` that `surface` breaks; additions break none."""
    return [*_lost(frozen, surface), *_demanded(frozen, surface)]


def _lost(frozen: Surface, surface: Surface) -> Iterator[Break]:
    for path, promised in frozen.items():
        now = surface.get(path)
        if now is None:
            yield Break(
                "removed", path, f"promised is {promised!r}; keep it, and deprecate it for the next API"
            )
        elif now != promised and not _is_grown(path, promised, now):
            kind = "changed signature" if "def (" in promised else "changed"
            yield Break(kind, path, f"promised is {promised!r}, here is {now!r}")


def _demanded(frozen: Surface, surface: Surface) -> Iterator[Break]:
    for path in surface.keys() - frozen.keys():
        owner, form = path.rpartition(".")[0], surface[path]
        if owner not in frozen:
            continue
        is_protocol = frozen[owner].startswith("protocol") and _is_implemented_by_plugins(path)
        if form.startswith("field") and " = " not in form:
            yield Break("new required field", path, f"{form!r} needs a default: plugins do not give it")
        elif form.startswith("abstract") or is_protocol:
            yield Break("new abstract method", path, f"{form!r} must do something by itself: plugins lack it")


def _is_implemented_by_plugins(member: str) -> bool:
    return member.split(".")[-2] in IMPLEMENTED_BY_PLUGINS


def _is_grown(path: str, promised: str, now: str) -> bool:
    """Check whether a function that plugins call has only gained optional arguments."""
    if "def (" not in promised or _is_implemented_by_plugins(path):
        return False
    head, _, result = promised.rpartition(") -> ")
    grown, _, new_result = now.rpartition(") -> ")
    if not grown.startswith(head) or result != new_result:
        return False
    added = grown[len(head) :].removeprefix(", ").removeprefix("*, ")
    return all(" = " in each or each.startswith("*") for each in re.split(r", (?=\*{0,2}\w+: )", added))
