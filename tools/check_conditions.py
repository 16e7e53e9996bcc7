"""Writes `profiles/conditions.json`: expressions of bundled profiles, quirks and own backends, checked.

    python tools/check_conditions.py

`make docs` runs it. `tests/meta/test_bundled_conditions.py` verifies that the file is current.
`etconfig/profile/bundled_conditions.py` reads it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path

import tomli

from etconfig.expression import Expression, ExpressionParser, ExpressionType, parse_expression
from etconfig.expression.checked import Constant
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.plugin.api_version import CURRENT
from etconfig.plugin.v1 import BackendRequest, BackendSpec
from etconfig.profile.document import load_document
from etconfig.profile.library import ProfileLibrary, bundled_profiles
from etconfig.profile.profile import parse_profile
from etconfig.profile.quirks import DIRECTORY as QUIRKS
from etconfig.profile.quirks import quirks_of

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "profiles" / "conditions.json"


def parsed_expressions() -> Iterator[Expression]:
    """Return every expression of the bundled profiles and of the backends' advice, parsed and checked."""
    library = ProfileLibrary((bundled_profiles(),))
    parser = ExpressionParser(BUILTIN_FACTS)
    for name in library.selectable_names:
        profile = parse_profile(load_document(library.find(name).path), parser)
        assignments = profile.settings.assignments
        found = (each for assignment in assignments for each in (assignment.condition, assignment.value))
        yield from (each for each in (profile.match, *found) if isinstance(each, Expression))
    quirks = (quirk for path in QUIRKS.glob("*.toml") for quirk in quirks_of(path.stem))
    kind = ExpressionType.BOOL
    yield from (parse_expression(each.condition.source, BUILTIN_FACTS, expect=kind) for each in quirks)
    texts = (text for spec in own_specs() for entry in spec.advice for text in (entry.expr, entry.when))
    yield from (parse_expression(text, BUILTIN_FACTS) for text in texts if text is not None)


def own_specs() -> Iterator[BackendSpec]:
    """Return the specs of the backends that the packages of this repository declare."""
    for package in sorted((ROOT / "plugins").iterdir()):
        project = tomli.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        entries = project.get("entry-points", {}).get("etconfig.backends", {})
        sys.path.insert(0, str(package))
        for name, module in entries.items():
            yield import_module(module).etconfig_backend(BackendRequest(name=name, core_api=CURRENT))


def node_data(node: tuple[object, ...]) -> list[object]:
    """Return a node of a checked tree as a list: its class, then its fields, with its operands one by one."""
    if isinstance(node, Constant):
        return ["Constant", node.value]  # a list, if it is a constant list
    data: list[object] = [type(node).__name__]
    for field in node:
        if hasattr(field, "_fields"):
            data.append(node_data(field))
        elif isinstance(field, tuple):
            data += map(node_data, field)
        else:
            data.append(field)
    return data


def file_text(expressions: Iterable[Expression]) -> str:
    """The content of the file: the trees of clauses, their numbers for each condition, and values."""
    found = sorted({each.source: each for each in expressions}.values(), key=lambda each: each.source)
    clauses: dict[str, str] = {}
    numbers: dict[str, str] = {}
    values: dict[str, str] = {}
    for each in found:
        if each.type is not ExpressionType.BOOL:
            values[each.source] = json.dumps([each.type.value, node_data(each.tree)])
            continue
        texts = each.clause_texts
        trees = each.tree.operands if len(texts) > 1 else [each.tree]
        clauses |= {text: json.dumps(node_data(tree)) for text, tree in zip(texts, trees, strict=True)}
        numbers[each.source] = json.dumps([list(clauses).index(text) for text in texts])
    parts = {"clauses": clauses, "conditions": numbers, "values": values}
    return "{" + ",\n".join(f'"{name}": {_object(items)}' for name, items in parts.items()) + "}\n"


def _object(items: Mapping[str, str]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {text}" for key, text in items.items()) + "\n}"


if __name__ == "__main__":
    TARGET.write_text(file_text(parsed_expressions()), encoding="utf-8")
