"""`Validator`: checking many files, which share bases and schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from etconfig.app.installation.installation import Installation
from etconfig.app.validating.validation import Validator
from etconfig.profile.document import Document, load_document


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of the files that are read."""
    names: list[str] = []

    def recorded(path: Path, texts: Mapping[str, str]) -> Document:
        names.append(path.name)
        return load_document(path, texts)

    monkeypatch.setattr("etconfig.profile.inheritance.load_document", recorded)
    return names


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Write three profiles that extend one base."""
    (tmp_path / "base.toml").write_text('[profile]\nname = "base"\n')
    paths = [tmp_path / f"{name}.toml" for name in "abc"]
    for path in paths:
        path.write_text(f'[profile]\nname = "{path.stem}"\nextends = ["base.toml"]\n')
    return paths


class TestValidator:
    """Shared files are read once; others are not kept."""

    def test_a_base_is_read_once(self, files: list[Path], read: list[str]) -> None:
        validator = Validator(installation=Installation())
        assert [validator.problems(path) for path in files] == [(), (), ()]
        assert read == ["a.toml", "base.toml", "b.toml", "c.toml"]

    def test_a_file_that_is_checked_again_is_read_again(self, files: list[Path]) -> None:
        validator = Validator(installation=Installation())
        assert validator.problems(files[0]) == ()
        files[0].write_text("[profile]\n")
        assert [problem.code for problem in validator.problems(files[0])] == ["missing-key"]

    def test_facts_are_detected_only_where_they_are_needed(
        self, files: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Installation, "detect_facts", lambda _: pytest.fail("it was looked at"))
        assert Validator(installation=Installation()).problems(files[0]) == ()


class TestValues:
    """A valid value of one file is not checked again in the next, and hides no wrong value."""

    @pytest.fixture
    def validator(self) -> Validator:
        return Validator(installation=Installation())

    @pytest.fixture
    def said(self, tmp_path: Path, validator: Validator) -> Callable[..., list[str]]:
        """Return the problems of files that set one option to these values, in turn."""
        path = tmp_path / "a.toml"

        def problems(option: str, *values: str, backend: str = "ReferenceNpuBackend") -> list[str]:
            messages = []
            for value in values:
                path.write_text(f'[profile]\nname = "a"\n[options.{backend}]\n{option} = {value}\n')
                messages += [f"{value}: {problem.message}" for problem in validator.problems(path)]
            return messages

        return problems

    def test_equal_values_of_other_types_are_other_values(self, said: Callable[..., list[str]]) -> None:
        expected = "ReferenceNpuBackend.core: expected an integer >= 0 and <= 3"
        assert said("core", "1", "1.0", "true", "1", "9", "9") == [
            f"1.0: {expected}, given 1.0 (a float)",
            f"true: {expected}, given true (a boolean)",
            f"9: {expected}, given 9",
            f"9: {expected}, given 9",
        ]

    def test_a_valid_value_of_one_option_is_checked_for_another(self, said: Callable[..., list[str]]) -> None:
        assert said("power_mode", '"low"') == []
        assert said("precision", '"low"', '"low"') != []

    def test_few_values_are_kept_and_no_long_ones(
        self, said: Callable[..., list[str]], validator: Validator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("etconfig.resolver.compiling.matching._MAX_FITS", 2)
        monkeypatch.setattr("etconfig.resolver.compiling.matching._MAX_FIT_LENGTH", len("64 KiB"))
        assert said("scratch_bytes", '"128 KiB"', '"64 KiB"', backend="ReferenceCpuBackend") == []
        assert said("core", "1", "2", "3", "1") == []
        kept = validator.known_fits
        assert {value for *_, value in kept} == {"64 KiB", 1}
