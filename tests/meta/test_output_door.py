"""Commands print through one module, which escapes what they print."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from every import every

CLI = Path(__file__).parents[2] / "etconfig" / "cli"
DOOR = {CLI / "shared" / "output.py", CLI / "startup" / "main.py"}
"""The modules that print: `main` prints what `quick_answers` escaped, and its own messages."""

PRINTING = {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"}


def printing_calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in PRINTING:
            yield f"line {node.lineno}: {ast.unparse(node.func)}"


@every("path", sorted(set(CLI.rglob("*.py")) - DOOR), ids=lambda path: str(path.relative_to(CLI)))
def test_no_other_module_prints(path: Path) -> None:
    assert list(printing_calls(path)) == []
