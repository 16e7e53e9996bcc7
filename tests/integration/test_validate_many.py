"""`Validator`: many files, and what they share."""

from __future__ import annotations

from pathlib import Path

import pytest

from etconfig.installation import Installation
from etconfig.profile import Document, load_document
from etconfig.validation import Validator


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read so far."""
    names: list[str] = []

    def recorded(path: Path) -> Document:
        names.append(path.name)
        return load_document(path)

    monkeypatch.setattr("etconfig.profile.inheritance.load_document", recorded)
    return names


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three profiles that extend one base."""
    (tmp_path / "base.toml").write_text('[profile]\nname = "base"\n')
    paths = [tmp_path / f"{name}.toml" for name in "abc"]
    for path in paths:
        path.write_text(f'[profile]\nname = "{path.stem}"\nextends = ["base.toml"]\n')
    return paths


class TestValidator:
    """What many files share is read once; what only one needs is not kept."""

    def test_a_base_is_read_once(self, files: list[Path], read: list[str]) -> None:
        validator = Validator(installation=Installation())
        assert [validator.problems(path) for path in files] == [(), (), ()]
        assert read == ["a.toml", "base.toml", "b.toml", "c.toml"]

    def test_a_file_that_is_asked_about_again_is_read_again(self, files: list[Path]) -> None:
        validator = Validator(installation=Installation())
        assert validator.problems(files[0]) == ()
        files[0].write_text("[profile]\n")
        assert [problem.code for problem in validator.problems(files[0])] == ["missing-key"]

    def test_the_device_is_looked_at_only_where_it_counts(
        self, files: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Installation, "detect_facts", lambda _: pytest.fail("it was looked at"))
        assert Validator(installation=Installation()).problems(files[0]) == ()
