"""Reads from its source which module of a package imports which, whenever and however it does.

What counts is every `import` statement, also in a function or below `TYPE_CHECKING`, and every module that is
named by a text: in the table of `lazy_names`, or for `import_module`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path


class ImportGraph:
    """The modules of a package and what they import.

    Args:
        package: The package's directory.
        excluded: Directories below it whose modules are left out.
    """

    def __init__(self, package: Path, excluded: Iterable[Path] = ()) -> None:
        left_out = {path for directory in excluded for path in directory.rglob("*.py")}
        paths = sorted(set(package.rglob("*.py")) - left_out)
        self.package = package.name
        self.paths: Mapping[str, Path] = {_module_name(path, package.parent): path for path in paths}

    @cached_property
    def imports(self) -> Mapping[str, Mapping[str, bool]]:
        """By module, every module that it imports, and whether only a type checker does so.

        A module outside the package is named by its top-level package.
        """
        return {name: self.imports_of(path) for name, path in self.paths.items()}

    def imports_of(self, path: Path) -> Mapping[str, bool]:
        """The same for one file, which need not belong to the package."""
        tree = ast.parse(path.read_text(encoding="utf-8"))
        checked_only = _nodes_for_type_checkers(tree)
        name = next((name for name, known in self.paths.items() if known == path), "")
        found: dict[str, bool] = {}
        for node in ast.walk(tree):
            for imported in self._imported(node):
                found[imported] = found.get(imported, True) and id(node) in checked_only
        for imported in self._named_by_text(tree, name):
            found[imported] = False
        return found

    def imports_at_once(self, path: Path) -> set[str]:
        """Return the modules that a file imports when it is imported: neither in functions nor for types."""
        tree = ast.parse(path.read_text(encoding="utf-8"))
        later = set(_nodes_for_type_checkers(tree))
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                later |= {id(inside) for inside in ast.walk(node)}
        return {name for node in ast.walk(tree) if id(node) not in later for name in self._imported(node)}

    def circle(self) -> list[str]:
        """Modules that need each other, each followed by one that it imports; empty if there are none."""
        inside = {name: imported.keys() & self.paths.keys() for name, imported in self.imports.items()}
        try:
            TopologicalSorter(inside).prepare()
        except CycleError as error:
            return list(reversed(error.args[1]))
        return []

    def _imported(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (self._without_outer_modules(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, "imports are absolute"
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in self.paths else self._without_outer_modules(node.module)

    def _without_outer_modules(self, name: str) -> str:
        top = name.partition(".")[0]
        return name if top == self.package else top

    def _named_by_text(self, tree: ast.AST, name: str) -> set[str]:
        """The modules that the table of a lazy package names, or that are imported by name."""
        called = {_called_name(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        words = {text for text in texts if isinstance(text, str)}
        found: set[str] = set()
        if "lazy_names" in called:
            found |= self._modules_below(name, words)
        if "import_module" in called:
            found |= {word for word in words if "." in word} & self.paths.keys()
            for base in _computed_bases(tree, name):
                # Where the names come from elsewhere, any module there may be meant.
                found |= self._modules_below(base, words) or self._children(base)
        return found - {name}

    def _modules_below(self, base: str, words: Iterable[str]) -> set[str]:
        return {f"{base}.{word}" for word in words} & self.paths.keys()

    def _children(self, base: str) -> set[str]:
        return {name for name in self.paths if name.rpartition(".")[0] == base}


def _module_name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _nodes_for_type_checkers(tree: ast.AST) -> set[int]:
    """The ids of the nodes below `if TYPE_CHECKING:`."""
    return {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }


def _called_name(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _computed_bases(tree: ast.AST, name: str) -> Iterator[str]:
    """The packages of f-strings such as `f"{__name__}.{each}"` and `f"acme.parts.{each}"`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            begin = node.values[0] if node.values else None
            if isinstance(begin, ast.Constant) and str(begin.value).endswith("."):
                yield str(begin.value).removesuffix(".")
            elif isinstance(begin, ast.FormattedValue) and ast.unparse(begin.value) == "__name__":
                yield name
