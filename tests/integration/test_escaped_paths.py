r"""A path of Windows in double quotes: `"C:\temp"` is valid TOML with a tab in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

CLI = Callable[..., Outcome]
HEAD = '[profile]\nname = "acme/board"\n'


@pytest.mark.parametrize(
    ("wrong", "right", "character"),
    [
        (r'description = "C:\temp"', r"description = 'C:\temp'", "a control character: \\t"),
        (r'description = "d:\\models\\b"', None, ""),
        (r'description = "D:\bin\\x"', r"description = 'D:\bin\x'", "a control character: \\b"),
        (r'description = "C:\firmware"', r"description = 'C:\firmware'", "a control character: \\f"),
        (r'description = "C:\new dir"', r"description = 'C:\new dir'", "a control character: \\n"),
        (r'extends = ["C:\run.toml"]', r"extends = ['C:\run.toml']", "a control character: \\r"),
        (r'"C:\temp" = 1', r"'C:\temp' = 1", "a control character: \\t"),
        (r'description = "a:\\n, C:\temp"', None, ""),
    ],
)
def test_a_drive_with_an_escape_after_it_is_an_error_that_shows_the_path(
    cli: CLI, place: Path, wrong: str, right: str | None, character: str
) -> None:
    Path("board.toml").write_text(f"{HEAD}{wrong}\n")
    found = cli("validate", "board.toml").stdout
    assert ("error[invisible-character]: the path " in found) == (right is not None)
    if right is not None:
        assert f" contains {character} is an escape\n" in found
        cli("validate", "--fix", "board.toml")
        assert Path("board.toml").read_text() == f"{HEAD}{right}\n"
        assert "invisible-character" not in cli("validate", "board.toml").stdout


def test_a_path_with_both_quotes_is_to_be_escaped(cli: CLI, place: Path) -> None:
    Path("board.toml").write_text(HEAD + 'description = "C:\\temp\'s"\n')
    assert "  = help: write each backslash twice\n" in cli("validate", "board.toml").stdout
