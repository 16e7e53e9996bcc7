"""Completion in shells, as docs/tools.md says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from command_line import Outcome


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell: Callable[..., Outcome], shell_name: str) -> None:
    done = shell("etconfig", _ETCONFIG_COMPLETE=f"{shell_name}_source")
    assert (done.status, done.stderr) == (0, "")
    assert "_etconfig_completion" in done.stdout
    assert f"_ETCONFIG_COMPLETE={shell_name}_complete" in done.stdout


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        ("etconfig val", ["plain,validate"]),
        ("etconfig profiles ma", ["plain,match"]),
        ("etconfig validate --unsafe", ["plain,--unsafe-fixes"]),
        ("etconfig validate --format sa", ["plain,sarif"]),
        ("etconfig validate bo", ["file,bo"]),
    ],
)
def test_the_script_is_given_what_may_follow(
    shell: Callable[..., Outcome], words: str, completions: list[str]
) -> None:
    count = str(len(words.split()) - 1)
    done = shell("etconfig", _ETCONFIG_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count)
    assert done.stdout.splitlines() == completions


def test_a_shell_that_is_not_supported_is_an_error(shell: Callable[..., Outcome]) -> None:
    assert shell("etconfig", _ETCONFIG_COMPLETE="ksh_source").status != 0
