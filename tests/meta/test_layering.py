"""Who may import whom: the table of docs/architecture.md, held against the code."""

from __future__ import annotations

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "etconfig"
TEMPLATES = PACKAGE / "templates"
"""Packages of vendors, which no code of etconfig imports."""

BOTTOM = {
    "lazy",
    "records",
    "scalar_types",
    "option_path",
    "provenance",
    "fingerprint",
    "diagnostics",
    "errors",
    "flatbuffer",
}
ROOMS: dict[str, set[str]] = {
    "lazy": set(),
    "records": set(),
    "scalar_types": set(),
    "option_path": {"records"},
    "provenance": {"records"},
    "fingerprint": set(),
    "diagnostics": {"records"},
    "errors": {"records", "diagnostics"},
    "flatbuffer": {"records"},
    "schema": BOTTOM,
    "facts": BOTTOM,
    "profile": BOTTOM | {"facts"},
    "resolver": BOTTOM | {"schema", "facts", "profile"},
    "backend": BOTTOM,
    "tracing": BOTTOM,
    "program": BOTTOM,
    "kernel": BOTTOM | {"program"},
    "kernels": BOTTOM | {"kernel"},
    "method": BOTTOM | {"backend", "tracing", "program", "kernel"},
    "numpy_executor": BOTTOM | {"backend", "tracing", "program", "kernel", "method"},
    "transport": BOTTOM | {"schema"},
    "plugin": BOTTOM | {"schema", "facts", "backend", "method", "transport"},
    "app": BOTTOM
    | {"schema", "facts", "profile", "resolver"}
    | {"backend", "tracing", "program", "method", "numpy_executor", "kernel", "kernels"}
    | {"transport", "plugin"},
    "conformance": BOTTOM
    | {"app", "method", "program", "backend", "plugin"}
    | {"schema", "facts", "resolver"},
    "scaffold": BOTTOM | {"schema", "program"},
    "cli": BOTTOM
    | {"conformance", "scaffold", "app"}
    | {"resolver", "schema", "facts", "profile", "plugin", "transport"}
    # `run` and `inspect` show what these hold
    | {"method", "numpy_executor", "tracing", "kernel", "program"},
    "__main__": {"cli"},
}
"""Every room and the rooms it may import; a room may always import itself and `etconfig`."""

CONFORMANCE: dict[str, set[str]] = {
    "kit": set(),
    "interpose": set(),
    "cases": set(),
    "subject": {"kit", "interpose", "cases"},
    "process": {"kit", "subject"},
    "checks": {"kit", "interpose", "cases", "subject", "process"},
    "runner": {"kit", "subject", "process", "checks"},
}
"""Every part of `conformance`, lowest first, and the parts that it may import."""

DOORS = {"plugin/v1_kernels.py": {"kernel"}}
"""Modules that only hand on names, and what they may import beyond their room."""

THIRD_PARTY: dict[str, set[str]] = {
    "platformdirs": {"app"},
    "pluggy": {"plugin"},
    "pydantic": {"schema"},
    "annotated_types": {"schema"},
    "tomli": {"profile"},
    "numpy": {"program", "kernel", "kernels", "method", "numpy_executor", "conformance", "cli"},
    "ml_dtypes": {"kernel", "conformance"},
    "pytest": {"conformance"},
    "torch": {"conformance"},
    "click": {"cli"},
    "rich": {"cli"},
}
"""Every third party package and the rooms it may be used in.

In cli, numpy reads and writes .npz; in program, it reads large plans by columns, where it is there. In
conformance, pytest is imported by its class for vendors' tests, and torch only to lower the cases.
"""


def modules() -> list[Path]:
    return sorted(set(PACKAGE.rglob("*.py")) - set(TEMPLATES.rglob("*.py")))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports(path: Path) -> dict[str, bool]:
    """Every module that a file imports, and whether only a type checker does."""
    tree = ast.parse(path.read_text())
    checked_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found: dict[str, bool] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [module_of(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        for name in names:
            found[name] = found.get(name, True) and id(node) in checked_only
    return found


def module_of(package: str, name: str) -> str:
    """The module that `from package import name` needs: one inside, if there is one of this name."""
    directory = PACKAGE.parent.joinpath(*package.split("."))
    is_module = directory == PACKAGE or (directory / f"{name}.py").is_file()
    return f"{package}.{name}" if is_module else package


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return  # the façade names everything, and imports lazily; see test_lazy_import
    for name, is_checked_only in imports(path).items():
        top, _, rest = name.partition(".")
        if top == "etconfig":
            target = rest.partition(".")[0]
            beyond = DOORS.get(path.relative_to(PACKAGE).as_posix(), set())
            allowed = ROOMS[room] | beyond | {room, "", "__version__"}
            assert target in allowed, f"{path.name} of {room} imports {name}"
        elif top not in sys.stdlib_module_names and not is_checked_only:
            assert room in THIRD_PARTY[top], f"{path.name} of {room} imports {name}"


def test_the_parts_of_the_conformance_kit_import_in_one_direction() -> None:
    needed: dict[str, set[str]] = {}
    for path in (PACKAGE / "conformance").glob("*/**/*.py"):
        part = path.relative_to(PACKAGE / "conformance").parts[0]
        others = {name.split(".")[2] for name in imports(path) if name.startswith("etconfig.conformance.")}
        needed.setdefault(part, set()).update(others - {part})
    assert needed == CONFORMANCE
    assert list(
        TopologicalSorter(CONFORMANCE).static_order()
    )  # raises CycleError if two parts need each other


def test_no_modules_need_each_other_in_a_circle() -> None:
    """Not for types and not inside functions either: every module can be read after those that it needs."""
    facade = {"etconfig", "etconfig.__version__"}  # it names everything
    needs = {name_of(path): imports(path).keys() - facade for path in modules()}
    needs.pop("etconfig")
    TopologicalSorter(needs).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize("door", DOORS)
def test_nothing_of_etconfig_goes_through_a_door_for_plugins(door: str) -> None:
    name = "etconfig." + door.removesuffix(".py").replace("/", ".")
    assert not [path for path in modules() if name in imports(path)]


@pytest.mark.parametrize("path", sorted(TEMPLATES.rglob("*.py")), ids=lambda p: p.name)
def test_a_template_imports_of_etconfig_what_vendors_may(path: Path) -> None:
    of_etconfig = {name for name in imports(path) if name.partition(".")[0] == "etconfig"}
    assert of_etconfig <= {"etconfig.plugin.v1", *(["etconfig.conformance"] if "tests" in path.parts else [])}


def test_every_room_stands_in_the_table() -> None:
    assert {room_of(path) for path in modules()} - {"__init__"} == set(ROOMS)


def test_the_tables_allow_no_more_than_is_used() -> None:
    used = {
        (room_of(path), name.removeprefix("etconfig.").partition(".")[0])
        for path in modules()
        for name in imports(path)
    }
    shared = {(room, other) for room in ROOMS for other in BOTTOM if room not in BOTTOM}
    allowed = {(room, other) for room, others in ROOMS.items() for other in others} - shared
    of_third_parties = {(room, package) for package, rooms in THIRD_PARTY.items() for room in rooms}
    assert (allowed | of_third_parties) - used == set()


def test_the_two_wings_never_meet_below_the_composition() -> None:
    """The configuration wing never sees a tensor, the execution wing never sees a TOML file."""
    configuration = {"facts", "schema", "profile", "resolver"}
    execution = {"program", "backend", "tracing", "method", "kernel", "kernels", "numpy_executor"}
    for room in configuration:
        assert not ROOMS[room] & execution
    for room in execution:
        assert not ROOMS[room] & configuration
