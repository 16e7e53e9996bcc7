"""One word, one sense: no two modules define a public class, function or type alias of the same name."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "etconfig"

CONVENTIONS = {
    "command": "the click command of each module in etconfig/cli/commands, which the command group looks up",
}
"""Names that several modules define on purpose, and why."""

MODULES = {
    **dict.fromkeys(
        ("backends", "check", "device", "explain", "lock", "rules", "tune", "validate"),
        "a command's module has the command's name, and calls the other one or reports on its subject",
    ),
    **dict.fromkeys(("memory", "metadata", "option_evidence"), "a detector or a check is named by its topic"),
    "headers": "the directory of a header, for C and for C++",
    "model": "the records of a program, and of a report",
    "registry": "the facts, the kernels, and the plugins that are known",
}
"""Names of several modules, and why."""


def defined_names(text: str) -> Iterator[str]:
    """The public classes, functions and aliases at the top level of a module, not its constants."""
    for node in ast.parse(text).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [node.name]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [
                target.id for target in targets if isinstance(target, ast.Name) and not is_constant(target.id)
            ]
        else:
            continue
        yield from (name for name in names if not name.startswith("_"))


def is_constant(name: str) -> bool:
    """True if a name is written in capitals, as constants are."""
    return name == name.upper()


def definitions() -> dict[str, list[str]]:
    """By name, the modules that define it; templates are packages of vendors."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        if PACKAGE / "templates" not in path.parents:
            for name in defined_names(path.read_text(encoding="utf-8")):
                found[name].append(path.relative_to(ROOT).as_posix())
    return found


def test_a_public_name_is_defined_by_one_module() -> None:
    twice = {name: modules for name, modules in definitions().items() if len(modules) > 1}
    assert {name: modules for name, modules in twice.items() if name not in CONVENTIONS} == {}


def test_every_convention_is_in_use() -> None:
    found = definitions()
    assert [name for name in CONVENTIONS if len(found[name]) < 2] == []


def test_classes_functions_and_aliases_count_and_constants_do_not() -> None:
    text = """
class Shape: ...
def place(): ...
async def wait(): ...
Choice: TypeAlias = "str | int"
Run = Callable[[], int]
ItemT = TypeVar("ItemT")
LIMIT = 3
CHECKS: tuple[str, ...] = ()
def _private(): ...
_Alias = int
"""
    assert [*defined_names(text)] == ["Shape", "place", "wait", "Choice", "Run", "ItemT"]


def test_modules_of_different_rooms_have_different_names() -> None:
    paths = [path for path in PACKAGE.rglob("*.py") if PACKAGE / "templates" not in path.parents]
    names = Counter(path.stem for path in paths)
    assert {name for name, count in names.items() if count > 1} - {"__init__"} == set(MODULES)
