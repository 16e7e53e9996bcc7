"""The layers of docs/architecture.md: every room imports only rooms that stand below it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from every import every
from import_graph import ImportGraph

PACKAGE = Path(__file__).parents[2] / "etconfig"
TEMPLATES = PACKAGE / "templates"
"""Packages of vendors, which no code of etconfig imports."""

BOTTOM = {"base", "diagnostics", "errors", "flatbuffer", "report"}
ROOMS: dict[str, set[str]] = {
    "base": set(),
    "diagnostics": {"base"},
    "errors": {"base", "diagnostics"},
    "flatbuffer": set(),
    "report": {"base", "diagnostics", "errors"},
    "mistakes": set(),
    "schema": BOTTOM,
    "facts": BOTTOM,
    "expression": BOTTOM | {"facts"},
    "profile": BOTTOM | {"facts", "expression"},
    "resolver": BOTTOM | {"schema", "facts", "expression", "profile"},
    "wire": BOTTOM | {"schema"},
    "device": BOTTOM | {"schema", "facts", "expression", "profile", "resolver", "wire"},
    "models": BOTTOM | {"facts", "expression", "profile"},
    "backend": BOTTOM,
    "aot": BOTTOM | {"facts", "schema"},
    "c_interface": BOTTOM | {"schema", "backend"},
    "tracing": BOTTOM,
    "program": BOTTOM,
    "memory": BOTTOM | {"schema", "facts", "program"},
    "kernel": BOTTOM | {"program"},
    "kernels": BOTTOM | {"kernel"},
    "method": BOTTOM | {"backend", "tracing", "program", "kernel"},
    "numpy_executor": BOTTOM | {"backend", "tracing", "program", "kernel", "method"},
    "plugin": BOTTOM | {"aot", "schema", "facts", "backend", "c_interface", "kernel", "method", "wire"},
    "app": BOTTOM
    | {"schema", "facts", "expression", "profile", "resolver", "models"}
    | {"backend", "tracing", "program", "method", "numpy_executor", "kernel", "kernels"}
    | {"wire", "plugin", "device", "memory"},
    "conformance": BOTTOM
    | {"app", "memory", "method", "program", "backend", "plugin"}
    | {"schema", "facts", "resolver"}
    # the worker that forks the processes of checks imports these ahead of time
    | {"numpy_executor", "kernels", "wire"},
    "analysis": BOTTOM
    | {"app", "resolver", "profile", "facts", "plugin", "schema"}
    | {"method", "tracing", "kernel", "program", "memory"},
    "measuring": BOTTOM
    | {"analysis", "app", "resolver", "schema", "facts", "models"}
    | {"backend", "tracing", "program"},
    "tuning": BOTTOM | {"measuring", "app", "resolver", "profile", "schema", "facts"},
    "fleet": BOTTOM | {"schema", "facts", "expression", "profile", "resolver", "plugin", "app"},
    "scaffold": BOTTOM | {"schema", "program", "c_interface"},
    "lsp": BOTTOM | {"app", "resolver", "profile", "expression", "facts", "schema"},
    "cli": BOTTOM
    | {"conformance", "analysis", "measuring", "tuning", "scaffold", "app", "fleet", "lsp"}
    | {"resolver", "schema", "facts", "profile", "models", "plugin", "wire", "device"}
    # `run` and `inspect` show the contents of these
    | {"method", "tracing", "kernel", "program", "memory"},
    "__main__": {"cli"},
    "__init__": BOTTOM
    | {"facts", "resolver", "models", "device", "program", "memory", "method"}
    | {"app", "analysis", "measuring", "tuning"},
}
"""Every room and the rooms that it may import, lowest first; a room may always import itself.

Each part of `mistakes` stands in the room that `HELPED` names, and may import what that room may.

`__init__` is the package's own: it names what is public, and nothing imports it.
"""

HELPED = {
    "fact_guesses": "facts",
    "option_values": "schema",
    "expression": "expression",
    "toml": "profile",
    "profile": "profile",
    "assignments": "resolver",
}
"""The parts of `mistakes`, and the room that each belongs to: it explains what is wrong there."""

PARTS: dict[str, dict[str, set[str]]] = {
    "device": {
        "bundle": set(),
        "deciding": {"bundle"},
        "compiling": {"bundle", "deciding"},
        "builders": {"deciding"},
        "typed": {"builders", "bundle", "compiling"},
    },
    "app": {
        "installation": set(),
        "configuring": {"installation"},
        "programs": {"installation", "configuring"},
        "live": {"configuring", "programs"},
        "locking": {"installation", "configuring"},
        "packing": {"installation", "configuring", "programs"},
        "validating": {"installation", "configuring", "programs"},
    },
    "fleet": {
        "inventory": set(),
        "deciding": {"inventory"},
        "running": {"inventory", "deciding"},
        "usage": {"inventory", "deciding", "running"},
    },
    "conformance": {
        "kit": set(),
        "interpose": set(),
        "cases": set(),
        "subject": {"kit", "interpose", "cases"},
        "process": {"kit", "subject"},
        "checks": {"kit", "interpose", "cases", "subject", "process"},
        "runner": {"kit", "subject", "process", "checks"},
    },
    "cli": {
        "shared": set(),
        "rendering": {"shared"},
        "commands": {"shared", "rendering"},
        "startup": {"shared", "commands"},
    },
}
"""Rooms that are layered inside: their packages, lowest first, and those that each imports."""

CONFIGURATION = {"facts", "schema", "profile", "resolver", "models"}
"""The wing that turns text and facts into arguments."""

EXECUTION = {"program", "backend", "tracing", "method", "kernel", "kernels", "numpy_executor"}
"""The wing that runs programs."""

MEETINGS = {
    "c_interface": "passes the typed options of a schema to backends in C",
    "memory": "adds what programs contain and what their backends make of it with their options",
    "plugin": "hands plugins the contracts of both wings; it resolves no option and runs no program",
    "app": "the composition level, where a configuration meets a program",
    "conformance": "checks backends with configurations and programs",
    "analysis": "reports on programs, with their arguments",
    "measuring": "measures configurations of programs and of engines' models",
    "scaffold": "writes options and example programs of a new backend",
    "cli": "prints what both wings give",
    "__init__": "names what is public of both wings",
}
"""Every room that imports both wings, and why."""

CONTRACTS = {
    "etconfig.schema.cache_keys",
    "etconfig.schema.constraints",
    "etconfig.schema.consumption",
    "etconfig.schema.declaration",
    "etconfig.schema.delegate_memory",
    "etconfig.schema.payload_description",
    "etconfig.schema.known_keys",
    "etconfig.schema.options",
    "etconfig.schema.spec",
    "etconfig.schema.tuned_values",
    "etconfig.schema.units",
    "etconfig.facts.builtin",
    "etconfig.facts.detecting.detector",
    "etconfig.facts.registry",
    "etconfig.facts.detecting.system",
    "etconfig.backend",
    "etconfig.method",
    "etconfig.kernel.checks",
    "etconfig.kernel.memory",
    "etconfig.kernel.registry",
    "etconfig.kernel.steps",
    "etconfig.kernel.tensor",
}
"""The modules of both wings that `plugin` imports: declarations, facts, backends, executors and kernels."""

DOORS = ("etconfig.plugin.v1_kernels", "etconfig.plugin.v1_c", "etconfig.profile")
"""Modules that only hand on names to plugins and applications."""

THIRD_PARTY: dict[str, set[str]] = {
    "flatbuffers": {"flatbuffer"},
    "platformdirs": {"app"},
    "pluggy": {"plugin"},
    "pydantic": {"schema"},
    "annotated_types": {"schema"},
    "tomli": {"profile"},
    "numpy": {
        "c_interface",
        "program",
        "kernel",
        "kernels",
        "method",
        "numpy_executor",
        "conformance",
        "analysis",
        "measuring",
        "tuning",
        "cli",
    },
    "ml_dtypes": {"kernel", "conformance", "measuring"},
    "pytest": {"conformance"},
    "torch": {"aot", "conformance"},
    "executorch": {"aot"},
    "click": {"cli"},
    "rich": {"report"},
    "jinja2": {"report"},
    "markupsafe": {"report"},
    "duckdb": {"fleet"},
    "distributed": {"fleet"},
    "vl_convert": {"measuring"},
    "cryptography": {"device"},
    "optuna": {"tuning"},
    "pygls": {"lsp"},
    "lsprotocol": {"lsp"},
}
"""Every third party package and the rooms it may be used in.

In cli, numpy reads and writes .npz; in fleet, it checks blocks of JSON for Arrow; in program, it reads large
plans by columns, where it is there. In conformance, pytest is imported by its class for vendors' tests, and
torch only to lower the cases. In aot, torch and executorch are imported by the partitioners when they are
called.
"""


GRAPH = ImportGraph(PACKAGE, [TEMPLATES])


def room_of(module: str) -> str:
    """The room of a module of etconfig, as `ROOMS` names it; for others, the package."""
    package, _, rest = module.partition(".")
    if package != PACKAGE.name:
        return package
    room, _, part = rest.partition(".")
    return HELPED[part.partition(".")[0]] if room == "mistakes" and part else room or "__init__"


@every("module", GRAPH.paths)
def test_a_module_imports_only_what_its_room_may(module: str) -> None:
    room = room_of(module)
    for name, is_checked_only in GRAPH.imports[module].items():
        if name.partition(".")[0] == PACKAGE.name:
            assert room_of(name) in ROOMS[room] | {room}, f"{module} of {room} imports {name}"
        elif name not in sys.stdlib_module_names and not is_checked_only:
            assert room in THIRD_PARTY[name], f"{module} of {room} imports {name}"


@pytest.mark.parametrize("room", PARTS)
def test_the_packages_of_a_room_import_in_one_direction(room: str) -> None:
    prefix = f"{PACKAGE.name}.{room}."
    needed: dict[str, set[str]] = {part: set() for part in PARTS[room]}
    for module in GRAPH.paths:
        part, is_package, _ = module.removeprefix(prefix).partition(".")
        if module.startswith(prefix) and (is_package or part in needed):
            inside = [name for name in GRAPH.imports[module] if name.startswith(prefix)]
            needed[part] |= {name.removeprefix(prefix).partition(".")[0] for name in inside} - {part}
    assert needed == PARTS[room]
    order = list(needed)
    assert [(p, o) for p in order for o in needed[p] if order.index(o) > order.index(p)] == []


@every("module", GRAPH.paths)
def test_what_explains_mistakes_is_imported_inside_functions_only(module: str) -> None:
    """So nothing of it is loaded where nothing is wrong."""
    if not module.startswith(f"{PACKAGE.name}.mistakes"):
        at_once = GRAPH.imports_at_once(GRAPH.paths[module])
        assert [name for name in at_once if name.startswith(f"{PACKAGE.name}.mistakes")] == []


def test_no_modules_need_each_other_in_a_circle() -> None:
    """Neither for types, nor inside functions, nor through lazy tables."""
    assert GRAPH.circle() == []


def test_the_rooms_stand_in_an_order() -> None:
    """No arrow points upward: each room imports only rooms that come before it in the table."""
    order = list(ROOMS)
    for room, others in ROOMS.items():
        above = [other for other in others - {room} if order.index(other) > order.index(room)]
        assert above == [], f"{room} may import {above}"


def test_nothing_imports_the_public_names_of_the_package() -> None:
    assert [module for module in GRAPH.paths if PACKAGE.name in GRAPH.imports[module]] == []


@pytest.mark.parametrize("door", DOORS)
def test_nothing_of_etconfig_goes_through_a_door_for_others(door: str) -> None:
    assert [module for module in GRAPH.paths if door in GRAPH.imports[module]] == []


@pytest.mark.parametrize("path", sorted(TEMPLATES.rglob("*.py")), ids=lambda p: p.name)
def test_a_template_imports_of_etconfig_what_vendors_may(path: Path) -> None:
    of_etconfig = {name for name in GRAPH.imports_of(path) if name.partition(".")[0] == PACKAGE.name}
    doors = {"etconfig.aot", "etconfig.plugin.v1", "etconfig.plugin.v1_c"}
    in_tests = {"etconfig", "etconfig.conformance"}
    assert of_etconfig <= doors | (in_tests if "tests" in path.parts else set())


def test_every_room_stands_in_the_table() -> None:
    assert {room_of(module) for module in GRAPH.paths} == set(ROOMS)


def test_the_tables_allow_no_more_than_is_used() -> None:
    used = {(room_of(module), room_of(name)) for module in GRAPH.paths for name in GRAPH.imports[module]}
    shared = {(room, other) for room in ROOMS for other in BOTTOM if room not in BOTTOM}
    allowed = {(room, other) for room, others in ROOMS.items() for other in others} - shared
    of_third_parties = {(room, package) for package, rooms in THIRD_PARTY.items() for room in rooms}
    assert (allowed | of_third_parties) - used == set()


def test_neither_wing_imports_the_other() -> None:
    """The configuration wing never sees a tensor, the execution wing never sees a TOML file."""
    assert [room for room in CONFIGURATION if ROOMS[room] & EXECUTION] == []
    assert [room for room in EXECUTION if ROOMS[room] & CONFIGURATION] == []


def test_the_wings_meet_in_the_named_rooms_only() -> None:
    both = {room for room, others in ROOMS.items() if others & CONFIGURATION and others & EXECUTION}
    assert both == set(MEETINGS)


def test_the_plugin_api_imports_contracts_of_the_wings_and_nothing_else_of_them() -> None:
    used = {name for module in GRAPH.paths if room_of(module) == "plugin" for name in GRAPH.imports[module]}
    assert {name for name in used if room_of(name) in CONFIGURATION | EXECUTION} == CONTRACTS
