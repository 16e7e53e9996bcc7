"""Every code in the source is registered; an unknown one would fail just when it is needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from etconfig.diagnostics import CODES
from etconfig.program.program_errors import PROGRAM_ERROR_CODES

PACKAGE = Path(__file__).parents[2] / "etconfig"


def named_codes() -> Iterator[tuple[str, str]]:
    """Each literal `code="..."` of a call, with its file."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant):
                yield str(path.relative_to(PACKAGE)), node.value.value


def test_every_code_is_registered() -> None:
    found = list(named_codes())
    assert len(found) > 20
    assert [(path, code) for path, code in found if code not in {*CODES, *PROGRAM_ERROR_CODES}] == []
