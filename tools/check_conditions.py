"""Writes `profiles/conditions.json`: the conditions of the bundled profiles, checked.

    python tools/check_conditions.py

`make docs` runs it. `tests/meta/test_bundled_conditions.py` verifies that the file is current.
`etconfig/profile/bundled_conditions.py` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
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


def file_text() -> str:
    """Return the content of the file: a line per condition, with its tree and the texts of its clauses."""
    checked = {each.source: [node_data(each.tree), *each.clause_texts] for each in parsed_conditions()}
    lines = (f"{json.dumps(text)}: {json.dumps(checked[text])}" for text in sorted(checked))
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TARGET.write_text(file_text(), encoding="utf-8")
