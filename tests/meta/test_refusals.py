"""The messages of kernels that refuse their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

SOURCES = Path(__file__).parents[2] / "etconfig"


def refusals() -> Iterator[tuple[str, ast.Call]]:
    """The calls of `require`, and where they are."""
    for path in sorted(
        each for room in ("kernel", "kernels", "numpy_executor") for each in SOURCES.glob(f"{room}/**/*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
                yield f"{path.name}:{node.lineno}", node


class TestRefusals:
    """A sentence has a brace pair for each value; it is formatted only when it is needed."""

    def test_a_sentence_has_a_place_for_each_value(self) -> None:
        assert [place for place, call in refusals() if not fits(*call.args)] == []


def fits(_condition: ast.expr, detail: ast.expr, *values: ast.expr) -> bool:
    if not isinstance(detail, ast.Constant):
        return False  # the values would be formatted even if the message is not needed
    places = [name for _, name, _, _ in Formatter().parse(detail.value) if name is not None]
    return places == [""] * len(values)
