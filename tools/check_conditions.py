"""Writes `profiles/conditions.json`: the conditions of the bundled profiles, checked.

    python tools/check_conditions.py

`make docs` runs it. `tests/meta/test_bundled_conditions.py` verifies that the file is current.
`etconfig/profile/bundled_conditions.py` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from etconfig.facts import BUILTIN_FACTS
from etconfig.profile import Expression, ExpressionParser, ProfileLibrary, bundled_profiles
from etconfig.profile.document import load_document
from etconfig.profile.expression.checked import Constant
from etconfig.profile.profile import parse_profile

TARGET = Path(__file__).parents[1] / "profiles" / "conditions.json"


def parsed_conditions() -> Iterator[Expression]:
    """Return every condition of the bundled profiles, parsed and checked."""
    library = ProfileLibrary((bundled_profiles(),))
    parser = ExpressionParser(BUILTIN_FACTS)
    for name in library.names:
        profile = parse_profile(load_document(library.find(name).path), parser)
        conditions = (assignment.condition for assignment in profile.settings.assignments)
        yield from (condition for condition in (profile.match, *conditions) if condition is not None)


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


def file_text(conditions: Iterable[Expression]) -> str:
    """The content of the file: the tree of each clause, and for each condition the numbers of its clauses."""
    clauses: dict[str, str] = {}
    numbers: dict[str, list[int]] = {}
    for condition in sorted(conditions, key=lambda each: each.source):
        texts = condition.clause_texts
        trees = condition.tree.operands if len(texts) > 1 else [condition.tree]
        clauses |= {text: json.dumps(node_data(tree)) for text, tree in zip(texts, trees, strict=True)}
        numbers[condition.source] = [list(clauses).index(text) for text in texts]
    trees_text = ",\n".join(f"{json.dumps(text)}: {tree}" for text, tree in clauses.items())
    numbers_text = ",\n".join(f"{json.dumps(text)}: {json.dumps(found)}" for text, found in numbers.items())
    return f'{{"clauses": {{\n{trees_text}\n}},\n"conditions": {{\n{numbers_text}\n}}}}\n'


if __name__ == "__main__":
    TARGET.write_text(file_text(parsed_conditions()), encoding="utf-8")
