"""Mistakes of people in conditions and values: each is found at its place, and the help says the way out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import pytest
from mistakes import StoredMistake, stored_mistakes

from etconfig import Diagnostic, Installation
from etconfig.app.validating.fixing import fix_files
from etconfig.app.validating.validation import validate_file

Validate = Callable[[str], "tuple[Diagnostic, ...]"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "board.toml"


@pytest.fixture
def validate(path: Path, npu_installed: None) -> Validate:
    """Validate a text where `NpuBackend` is installed."""

    def check(text: str) -> tuple[Diagnostic, ...]:
        path.write_text(text, "utf-8")
        return validate_file(path, Installation(path.parent))

    return check


@pytest.mark.parametrize(
    "mistake",
    [*stored_mistakes("conditions"), *stored_mistakes("values")],
    ids=lambda mistake: mistake.name,
)
def test_a_mistake_is_explained_at_its_place_and_fixed(
    mistake: StoredMistake, path: Path, validate: Validate
) -> None:
    found = validate(mistake.text)
    errors = [each for each in found if each.is_error] or found
    assert list(dict.fromkeys(each.code for each in errors)) == mistake.codes
    assert list(dict.fromkeys(each.help for each in errors if each.help)) == mistake.helps
    starts = [0, *accumulate(len(line) + 1 for line in mistake.text.split("\n"))]
    spans = [each.spans[0] for each in errors]
    places = {(starts[span.line - 1] + span.column - 1, span.length) for span in spans}
    assert sorted(places) == mistake.places
    made = [file.after for file in fix_files([path], found, with_unsafe=True)]
    assert made == ([] if mistake.fixed is None else [mistake.fixed])
    if mistake.fixed is not None:
        made_by_default = [file.after for file in fix_files([path], found)]
        assert (made_by_default == made) == mistake.is_safe
        assert not [each for each in validate(made[0]) if each.is_error]
