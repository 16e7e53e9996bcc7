"""Captured trees of tests/data/trees. A colon is stored as `%3A`, since Windows allows none in names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.sources import Tree
from etconfig.facts.detecting.system import System

TREES = Path(__file__).parents[1] / "data" / "trees"
STORED: Mapping[str, str] = {":": "%3A"}
"""Characters in the paths of a device, and their replacements here."""


class StoredTree(Tree):
    """A tree whose paths are stored so that every operating system can check them out."""

    def read(self, path: str, max_bytes: int) -> bytes | None:
        return super().read(_stored(path), max_bytes)

    def names(self, path: str) -> tuple[str, ...] | None:
        names = super().names(_stored(path))
        return None if names is None else tuple(sorted(map(_restored, names)))


def captured_system(name: str) -> System:
    """Return the device on which the tree `name` was captured."""
    return System(StoredTree(TREES / name), Host.captured(TREES / name))


def _stored(path: str) -> str:
    for character, stored in STORED.items():
        path = path.replace(character, stored)
    return path


def _restored(name: str) -> str:
    for character, stored in STORED.items():
        name = name.replace(stored, character)
    return name
