"""C and C++ of the package: lines that fit, and comments for readers who do not know the Python sources."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "etconfig"
SOURCES = sorted(
    path
    for path in PACKAGE.rglob("*")
    if path.suffix in (".h", ".cpp") and PACKAGE / "templates" not in path.parents
)
WIDEST = 110


def lines_with(pattern: str) -> list[str]:
    return [
        f"{path.relative_to(PACKAGE)}:{number}: {line}"
        for path in SOURCES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]


def test_lines_have_at_most_110_columns() -> None:
    assert len(SOURCES) > 30
    assert lines_with(f"^.{{{WIDEST + 1}}}") == []


def test_a_comment_says_what_the_code_does_and_names_no_python_module_for_it() -> None:
    assert lines_with(r"//(?! Written by| .* Written by).*\b(etconfig/[a-z_/]+|\w+)\.py\b") == []
