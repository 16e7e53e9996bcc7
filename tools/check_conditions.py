"""Writes `etconfig/profile/expression/ready.py`: the conditions of the bundled profiles, checked.

    python tools/check_conditions.py

`make docs` runs it. `tests/meta/test_ready_conditions.py` holds that the file is current.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from etconfig.facts import BUILTIN_FACTS
from etconfig.profile import Expression, ExpressionParser, ProfileLibrary, bundled_profiles
from etconfig.profile.document import load_document
from etconfig.profile.profile import parse_profile

TARGET = Path(__file__).parents[1] / "etconfig" / "profile" / "expression" / "ready.py"

_HEAD = '''"""The conditions of the bundled profiles, checked against the built-in facts.

A command that selects a profile evaluates all of them. With this table it needs neither to parse and check
them nor to import what does. Written by `make docs`, from `profiles/`; a text that is not here is parsed.
"""
# fmt: off
# ruff: noqa: E501, F401

from __future__ import annotations

from collections.abc import Mapping

from etconfig.profile.expression.checked import Constant, FactValueOf, HasFact, ListOf, Logic, Operation
from etconfig.profile.expression.expression import ReadyCondition

READY: Mapping[str, ReadyCondition] = {
'''


def bundled_conditions() -> Iterator[Expression]:
    """Every condition of the bundled profiles, parsed and checked."""
    library = ProfileLibrary((bundled_profiles(),))
    parser = ExpressionParser(BUILTIN_FACTS)
    for name in library.names:
        profile = parse_profile(load_document(library.find(name).path), parser)
        conditions = (assignment.condition for assignment in profile.settings.assignments)
        yield from (condition for condition in (profile.match, *conditions) if condition is not None)


def constructed(value: object) -> str:
    """The expression that makes a checked tree, or what is inside one."""
    if not isinstance(value, tuple):
        return repr(value)
    items = ", ".join(map(constructed, value))
    is_node = hasattr(value, "_fields")
    return f"{type(value).__name__}({items})" if is_node else f"({items}{',' * (len(value) == 1)})"


def module_text() -> str:
    """What the file should hold: a line for each condition."""
    checked = {each.source: (each.tree, each.clause_texts) for each in bundled_conditions()}
    lines = [f"    {text!r}: {constructed(checked[text])},\n" for text in sorted(checked)]
    return "".join([_HEAD, *lines, "}\n"])


if __name__ == "__main__":
    TARGET.write_text(module_text(), encoding="utf-8")
