"""Every public module, class and function says what it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from every import every

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "etconfig", ROOT / "plugins" / "etconfig-reference" / "etconfig_reference"]


def classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


@cache
def documented_methods() -> set[str]:
    """Names of methods that some class documents; an override need not say it again."""
    trees = (ast.parse(path.read_text()) for source in SOURCES for path in source.rglob("*.py"))
    return {
        node.name
        for tree in trees
        for owner in classes(tree)
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)
    }


def undocumented(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    if ast.get_docstring(tree) is None:
        yield path.name
    yield from _undocumented_in(tree, path.stem)


def _undocumented_in(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
    for child in node.body:
        if not isinstance(child, (ast.ClassDef, ast.FunctionDef)):
            continue
        name = f"{prefix}.{child.name}"
        if child.name.startswith("_") or _is_overload(child) or _overrides(node, child):
            continue
        if ast.get_docstring(child) is None:
            yield name
        if isinstance(child, ast.ClassDef):
            yield from _undocumented_in(child, name)


def _is_overload(node: ast.ClassDef | ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list)


def _overrides(owner: ast.Module | ast.ClassDef, node: ast.ClassDef | ast.FunctionDef) -> bool:
    if not isinstance(owner, ast.ClassDef) or not owner.bases:
        return False
    return node.name in documented_methods() or any(
        ast.unparse(base).startswith("click.") for base in owner.bases
    )


@every(
    "path",
    [path for source in SOURCES for path in sorted(source.rglob("*.py")) if "tests" not in path.parts],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_every_public_object_has_a_docstring(path: Path) -> None:
    assert list(undocumented(path)) == []
