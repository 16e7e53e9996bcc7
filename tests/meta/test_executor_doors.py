"""The interpreter's two speed-ups each stand behind one door."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import etconfig

PACKAGE = Path(etconfig.__file__).parent
EXECUTOR = "etconfig.numpy_executor"


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Return every module that a file imports from, anywhere in it."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("package", ["optimizer", "rebinding"])
class TestDoors:
    """The interpreter imports each package by its door, and neither package imports the other."""

    def test_modules_outside_import_the_package_alone(self, package: str) -> None:
        door = f"{EXECUTOR}.{package}"
        inside = PACKAGE / "numpy_executor" / package
        outside = [path for path in PACKAGE.rglob("*.py") if inside not in path.parents]
        assert not [path for path in outside for name in imported(path) if name.startswith(f"{door}.")]

    def test_the_other_one_does_not_import_it(self, package: str) -> None:
        other = {"optimizer": "rebinding", "rebinding": "optimizer"}[package]
        inside = (PACKAGE / "numpy_executor" / other).glob("*.py")
        assert not [
            path for path in inside for name in imported(path) if name.startswith(f"{EXECUTOR}.{package}")
        ]
