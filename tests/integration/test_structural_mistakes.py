"""Mistakes as people make them: each is one diagnostic, at the wrong characters, with the way out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome
from mistakes import Mistake
from syntax_mistakes import SYNTAX_MISTAKES
from table_mistakes import TABLE_MISTAKES

MISTAKES = (*SYNTAX_MISTAKES, *TABLE_MISTAKES)


def named(mistakes: tuple[Mistake, ...]) -> dict[str, Mistake]:
    return {f"{index}-{mistake.name}": mistake for index, mistake in enumerate(mistakes)}


@pytest.fixture
def check(cli: Callable[..., Outcome], installed: Callable[..., None]) -> Callable[..., Outcome]:
    """Write a text to a file and check it."""
    installed("acme-dsp")

    def run(file: str, text: str, *options: str) -> Outcome:
        Path(file).write_text(text, encoding="utf-8")
        return cli("validate", file, *options)

    return run


@pytest.mark.parametrize("mistake", named(MISTAKES).values(), ids=named(MISTAKES))
def test_a_mistake_is_one_diagnostic_at_its_place_with_the_way_out(
    check: Callable[..., Outcome], mistake: Mistake
) -> None:
    (problem,) = json.loads(check(mistake.file, mistake.text, "--format", "json").stdout)
    (span, *_) = problem["spans"]
    line, column, wrong = mistake.place
    assert (problem["code"], span["line"], span["column"], span["length"]) == (
        mistake.code,
        line,
        column,
        max(len(wrong), 1),
    )
    assert mistake.help in problem["help"]
    assert (problem["fix"] is None) == (mistake.fixed is None)


FIXED = named(tuple(mistake for mistake in MISTAKES if mistake.fixed is not None))


@pytest.mark.parametrize("mistake", FIXED.values(), ids=FIXED)
def test_the_fix_leaves_a_valid_file(check: Callable[..., Outcome], mistake: Mistake) -> None:
    path = Path(mistake.file)
    check(mistake.file, mistake.text, "--fix")
    if not mistake.is_safe:
        assert path.read_text(encoding="utf-8") == mistake.text
        check(mistake.file, mistake.text, "--fix", "--unsafe-fixes")
    assert path.read_text(encoding="utf-8") == mistake.fixed
    found = json.loads(check(mistake.file, mistake.fixed, "--format", "json").stdout)
    assert [problem for problem in found if problem["code"] != "backend-not-installed"] == []


@pytest.mark.parametrize(
    "written", ["generic/any.toml", "any.toml", "./generic/any.toml", "profiles/generic/any.toml"]
)
def test_the_path_of_a_known_profile_is_fixed_to_its_name(
    check: Callable[..., Outcome], written: str
) -> None:
    text = '[profile]\nname = "acme/board"\nextends = ["{}"]\n'
    done = check("board.toml", text.format(written), "--format", "concise")
    assert "did you mean 'generic/any'?" in done.stdout
    check("board.toml", text.format(written), "--fix", "--unsafe-fixes")
    assert Path("board.toml").read_text(encoding="utf-8") == text.format("generic/any")
